import { readFileSync } from 'node:fs';
import path from 'node:path';
import { replies } from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { en } from '../../packages/console/page/src/texts/en.ts';
import { root } from '../scripts/bootstrap.mjs';
import { sourceFiles } from './source-files.ts';

/** A code is a literal in upper case that begins with its package's name. */
const codePattern = /'((?:PROTOCOL|SENDER|RECEIVER|CLI|CONSOLE)_[A-Z0-9_]+)'/g;
const codes = [
  ...new Set(sourceFiles.flatMap(({ text }) => [...text.matchAll(codePattern)].map(([, code = '']) => code))),
];
const page = readFileSync(path.join(root, 'docs', 'errors.md'), 'utf8');
const headings = [...page.matchAll(/^#+ +`?([A-Z0-9]+_[A-Z0-9_]+)\b/gm)];
const documented = headings.map(([, code = '']) => code);

test('every code that a package can throw or warn with has a heading in docs/errors.md', () => {
  expect(codes.filter((code) => !documented.includes(code))).toEqual([]);
});

test('docs/errors.md explains no code that is gone', () => {
  expect(documented.filter((code) => !codes.includes(code))).toEqual([]);
});

test('docs/errors.md explains each code once', () => {
  expect(documented.filter((code, index) => documented.indexOf(code) !== index)).toEqual([]);
});

test('docs/errors.md explains each reason that a receiver answers, or that the console has words for', () => {
  const cells = [...page.matchAll(/^\| (`[^|]*`) \|/gm)].map(([, cell = '']) => cell);
  const explained = new Set(cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, reason = '']) => reason)));
  const reasons = [...Object.keys(replies), ...Object.keys(en.reasons)];
  expect(reasons.filter((reason) => !explained.has(reason))).toEqual([]);
});
