import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runPnpm } from '../scripts/bootstrap.mjs';
import { runQuietly } from '../scripts/run-quietly.mjs';
import { publicPackages } from './public-packages.ts';

export interface PackedProject extends AsyncDisposable {
  readonly folder: string;
  tarball(packageName: string): string;
  /** The package as it lies in this project's node_modules. */
  installed(packageName: string): string;
  /** Runs a script in the project and gives what it printed. `kind` is the file's extension: ES module or CommonJS. */
  run(kind: 'mjs' | 'cjs', script: string): Promise<string>;
}

/**
 * A project, away from the repository, that has our packages as they would be published: packed, and with nothing but the
 * dependencies that they declare. Those are links to what the workspace has installed, so that no registry is needed.
 */
export async function packedProject(): Promise<PackedProject> {
  const folder = mkdtempSync(path.join(tmpdir(), 'bestnotify-packed-'));
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }');
  const installed = (name: string) => path.join(folder, 'node_modules', name);
  const tarballs = new Map<string, string>();
  for (const { name, folder: source, manifest } of publicPackages) {
    const packs = path.join(folder, 'packs', name);
    mkdirSync(packs, { recursive: true });
    await runPnpm(['pack', '--pack-destination', packs], { cwd: source });
    const tarball = path.join(packs, onlyFileIn(packs));
    tarballs.set(name, tarball);
    mkdirSync(installed(name), { recursive: true });
    await runQuietly('tar', ['-xzf', tarball, '-C', installed(name), '--strip-components=1']);
    for (const dependency of Object.keys(manifest.dependencies ?? {})) link(dependency, source, installed(dependency));
  }
  return {
    folder,
    installed,
    tarball(name) {
      const file = tarballs.get(name);
      if (file === undefined) throw new Error(`${name} is not a published package.`);
      return file;
    },
    run(kind, script) {
      const file = path.join(folder, `script.${kind}`);
      writeFileSync(file, script);
      return runQuietly(process.execPath, [file], { cwd: folder });
    },
    [Symbol.asyncDispose]() {
      rmSync(folder, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

function link(dependency: string, from: string, to: string): void {
  if (publicPackages.some(({ name }) => name === dependency)) return; // packed too
  mkdirSync(path.dirname(to), { recursive: true });
  rmSync(to, { force: true });
  symlinkSync(realpathSync(path.join(from, 'node_modules', dependency)), to);
}

function onlyFileIn(folder: string): string {
  const [file] = readdirSync(folder);
  if (file === undefined) throw new Error(`Nothing was packed into ${folder}.`);
  return file;
}
