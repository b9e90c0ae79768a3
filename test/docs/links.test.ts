import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { anchors, codeBlocks, documents, type Document } from './markdown.ts';
import { root } from '../scripts/bootstrap.mjs';

test.each(documents)('every relative link of $name leads somewhere', (document) => {
  expect(relativeLinks(document).filter((link) => !exists(document, link))).toEqual([]);
});

test.each(documents)('every path of this repository that $name names exists', ({ prose }) => {
  const named = [...prose.matchAll(/`((?:packages|examples|test|docs|\.ci|\.github)\/[\w./-]+)`/g)].map(
    ([, name = '']) => name,
  );
  expect(named.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
});

test.each(documents)('every command that $name tells to run exists', (document) => {
  const code = [...codeBlocks(document).map((block) => block.code), ...inlineCode(document)].join('\n');
  const scripts = scriptsNear(document);
  const named = [...code.matchAll(/\b(?:npm|pnpm) (?:run )?(?:--silent |-s )?([a-z][\w:-]*)/g)]
    .filter(([command, name = '']) => / run /.test(command) || name === 'test')
    .map(([, name = '']) => name);
  expect(named.filter((name) => !scripts.includes(name))).toEqual([]);
});

function relativeLinks({ prose }: Document): string[] {
  const inline = [...prose.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)].map(([, target = '']) => target);
  const definitions = [...prose.matchAll(/^\[[^\]]+\]: +(\S+)/gm)].map(([, target = '']) => target);
  return [...inline, ...definitions].filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target));
}

function exists(document: Document, link: string): boolean {
  const [target = '', anchor] = link.split('#').map(decodeURIComponent);
  const file = target === '' ? path.join(root, document.name) : path.resolve(document.folder, target);
  if (!existsSync(file)) return false;
  if (anchor === undefined || statSync(file).isDirectory() || !file.endsWith('.md')) return true;
  return anchors(readFileSync(file, 'utf8')).has(anchor);
}

function inlineCode({ prose }: Document): string[] {
  return [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
}

/** What can be run where the document lies, or at the top. */
function scriptsNear({ folder }: Document): string[] {
  return [root, folder]
    .map((each) => path.join(each, 'package.json'))
    .filter((file) => existsSync(file))
    .map((file) => JSON.parse(readFileSync(file, 'utf8')) as { scripts?: Record<string, string> })
    .flatMap(({ scripts = {} }) => Object.keys(scripts));
}
