import { readFileSync } from 'node:fs';
import path from 'node:path';
import { root } from '../scripts/bootstrap.mjs';
import { filesUnder } from './files-under.ts';

export interface Document {
  /** Relative to the repository's top folder. */
  readonly name: string;
  readonly folder: string;
  readonly text: string;
  /** The text without its fenced code blocks. */
  readonly prose: string;
}

const fence = /^ *(`{3,}) *(.*)\n([^]*?)^ *\1 *$/gm;

/** Every Markdown file that people wrote in this repository. */
export const documents: readonly Document[] = filesUnder(root)
  .filter((file) => file.endsWith('.md'))
  .map((file) => {
    const text = readFileSync(file, 'utf8');
    return { name: path.relative(root, file), folder: path.dirname(file), text, prose: text.replace(fence, '') };
  });

/** Fenced code blocks: their info string and their content. */
export function codeBlocks({ text }: Document): { info: string; code: string }[] {
  return [...text.matchAll(fence)].map(([, , info = '', code = '']) => ({ info, code }));
}

/** The anchors that a document's headings have on GitHub. */
export function anchors(text: string): Set<string> {
  const seen = new Map<string, number>();
  return new Set(
    [...text.replace(fence, '').matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading = '']) => {
      const anchor = heading
        .toLowerCase()
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/[^\p{Letter}\p{Mark}\p{Number}_ -]/gu, '')
        .replaceAll(' ', '-');
      const times = seen.get(anchor) ?? 0;
      seen.set(anchor, times + 1);
      return times === 0 ? anchor : `${anchor}-${times}`;
    }),
  );
}
