import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../scripts/bootstrap.mjs';
import { filesUnder } from './files-under.ts';

/** Every TypeScript file of the packages that is shipped. */
export const sourceFiles: readonly { readonly file: string; readonly text: string }[] = readdirSync(
  path.join(root, 'packages'),
)
  .flatMap((name) => filesUnder(path.join(root, 'packages', name, 'src')))
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }));
