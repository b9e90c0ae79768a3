import { expect, test } from 'vitest';
import { exportedNames } from './exported-names.ts';
import { publicPackages } from './public-packages.ts';

test('what users can import is what names/ lists: a change there is a change for them', async () => {
  const names = exportedNames(publicPackages.flatMap(({ specifiers }) => specifiers));
  for (const [specifier, lines] of names) {
    const file = `names/${specifier.replace('@bestnotify/', '').replace('/', '.')}.txt`;
    await expect(`${lines.join('\n')}\n`, specifier).toMatchFileSnapshot(file);
  }
});
