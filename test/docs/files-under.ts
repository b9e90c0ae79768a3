import { readdirSync } from 'node:fs';
import path from 'node:path';

const unwritten = new Set(['node_modules', 'dist', 'artifacts', '.git', '.turbo', '.bestnotify']);

/** Every file below a folder that people wrote. */
export function filesUnder(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => !unwritten.has(entry.name))
    .flatMap((entry) => {
      const file = path.join(folder, entry.name);
      return entry.isDirectory() ? filesUnder(file) : [file];
    });
}
