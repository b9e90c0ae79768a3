import { expect, test } from 'vitest';
import { compileErrors } from './compile.ts';
import { codeBlocks, documents } from './markdown.ts';

// `ts` begins a program of its own; `ts continued` goes on with the one before it in the same document.
const programs = documents
  .filter(
    ({ name }) => /^(packages\/[^/]+\/)?README[^/]*$/.test(name) || /^docs\/(guide|alerts|observability)/.test(name),
  )
  .flatMap((document) => {
    const texts: string[] = [];
    for (const { info, code } of codeBlocks(document)) {
      if (info === 'ts') texts.push(code);
      if (info === 'ts continued') texts.push(`${texts.pop() ?? ''}\n${code}`);
    }
    return texts.map((text, index) => ({ name: `${document.name.replaceAll('/', '-')}-${index + 1}`, text }));
  });
const errors = compileErrors(programs);

test.each(programs)('the code of $name compiles', ({ name }) => {
  expect(errors.get(name) ?? []).toEqual([]);
});
