// `npm run pictures`: makes the pictures of the console that the README shows, with the browser of the page's own tests.
import path from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { main, startCommand } from './interrupt.mjs';

await main(async () => {
  await bootstrap();
  const vitest = path.join(root, 'node_modules', '.bin', 'vitest');
  const { ended } = startCommand(vitest, ['run', 'test/console/page.test.ts', '-t', 'the pictures of the README'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, BESTNOTIFY_PICTURES: path.join(root, 'docs', 'images') },
  });
  const failure = await ended;
  if (failure !== undefined) throw new Error(`The pictures were not made: ${failure}.`);
});
