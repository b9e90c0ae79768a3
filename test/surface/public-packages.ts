import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../scripts/bootstrap.mjs';

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

export interface PublicPackage {
  readonly name: string;
  readonly folder: string;
  readonly manifest: Manifest;
  /** What users import: `@bestnotify/sender`, `@bestnotify/sender/testing`, …; without `package.json`. */
  readonly specifiers: readonly string[];
}

/** Every package of this repository that is published, by name. */
export const publicPackages: readonly PublicPackage[] = readdirSync(path.join(root, 'packages'))
  .map((name) => path.join(root, 'packages', name))
  .map((folder) => ({ folder, manifest: readManifest(folder) }))
  .filter(({ manifest }) => manifest.private !== true)
  .map(({ folder, manifest }) => ({ name: manifest.name, folder, manifest, specifiers: specifiersOf(manifest) }));

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest;
}

function specifiersOf({ name, exports }: Manifest): string[] {
  return Object.keys(exports)
    .filter((subpath) => !subpath.endsWith('.json'))
    .map((subpath) => path.posix.join(name, subpath));
}
