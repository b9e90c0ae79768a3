import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runQuietly } from '../scripts/run-quietly.mjs';
import { exportedNames } from './exported-names.ts';
import { packedProject, type PackedProject } from './packed-project.ts';
import { publicPackages, readManifest } from './public-packages.ts';

const unbuilt = publicPackages.filter(({ folder }) => !existsSync(path.join(folder, 'dist')));
if (unbuilt.length > 0) throw new Error('These tests look at what is published. Run `npm run build` first.');

const names = exportedNames(publicPackages.flatMap(({ specifiers }) => specifiers));
let project: PackedProject;
beforeAll(async () => {
  project = await packedProject();
}, 120_000);
afterAll(() => project[Symbol.asyncDispose]());

describe.each(publicPackages)('$name, packed', ({ name, specifiers }) => {
  test('contains what it needs and nothing else', async () => {
    const files = (await runQuietly('tar', ['-tzf', project.tarball(name)])).split('\n');
    const expected =
      /^package\/(dist\/.+\.(js|cjs|d\.ts|d\.cts)|dist\/page\/.+\.(html|js|css|svg|md)|package\.json|README\.md|LICENSE)$/;
    expect(files.filter((file) => !expected.test(file))).toEqual([]);
    expect(files.filter((file) => /README|LICENSE/.test(file)).sort()).toEqual([
      'package/LICENSE',
      'package/README.md',
    ]);
  });

  test('asks for other packages by version, not by their place in this workspace', () => {
    const { dependencies = {} } = readManifest(project.installed(name));
    expect(Object.values(dependencies).filter((range) => !/^[\^~]?\d/.test(range))).toEqual([]);
  });

  test.each(specifiers)(
    '%s gives the same names to import and to require, with its own dependencies alone',
    async (specifier) => {
      const imported = await project.run('mjs', `${printNames} print(await import('${specifier}'));`);
      const required = await project.run('cjs', `${printNames} print(require('${specifier}'));`);
      const promised = names.get(specifier) ?? [];
      const values = promised.filter((line) => line.startsWith('value ')).map((line) => line.slice('value '.length));
      expect(JSON.parse(imported)).toEqual(values);
      expect(JSON.parse(required)).toEqual(values);
    },
  );

  test('publint finds nothing', async () => {
    const { messages, pkg } = await publint({ pkgDir: project.installed(name), pack: false, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([]);
  });

  test('types resolve as the code does, for both kinds of module', async () => {
    const cli = createRequire(import.meta.url).resolve('@arethetypeswrong/cli/package.json');
    // Resolution without `exports` (node10) is for tools older than any Node that we support.
    await runQuietly(process.execPath, [
      path.join(path.dirname(cli), 'dist', 'index.js'),
      ...['--profile', 'node16', '--no-color', '--no-emoji', project.tarball(name)],
    ]);
  }, 60_000);
});

const printNames = 'const print = (module) => console.log(JSON.stringify(Object.keys(module).sort()));';
