import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { root } from '../scripts/bootstrap.mjs';
import { documentedDefaults } from './documented-defaults.ts';
import { sourceFiles } from './source-files.ts';

const filesWithDefaults = sourceFiles
  .map(({ file, text }) => ({ file, name: path.relative(root, file), defaults: documentedDefaults(file, text) }))
  .filter(({ defaults }) => defaults.length > 0);

test.each(filesWithDefaults)('@default says what the defaults object holds, in $name', async ({ file, defaults }) => {
  const module = (await import(file)) as Record<string, Record<string, unknown>>;
  for (const { object, option, documented } of defaults) {
    const value = module[object]?.[option];
    if (typeof value === 'function') continue; // no literal stands for one: what is said of it is for people alone
    expect(documented, `${option} has a @default`).toBeDefined();
    expect(literal(documented), `@default of ${option}`).toEqual(value);
  }
});

/** The value that a piece of TypeScript stands for, or the text itself when it is none. */
function literal(text = ''): unknown {
  try {
    return structuredClone(runInNewContext(`(${text})`) as unknown);
  } catch {
    return text;
  }
}
