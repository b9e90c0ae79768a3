// `npm run interop`: everything that speaks this protocol without our code, in both directions, as a table; the last line is JSON.
import { bootstrap } from './bootstrap.mjs';
import { main } from './interrupt.mjs';

await main(async () => {
  await bootstrap();
  const { runInterop } = await import('../interop/main.mjs'); // after the bootstrap: it imports the built packages
  const score = await runInterop((line) => process.stderr.write(`${line}\n`));
  if (!score.print((line) => process.stdout.write(`${line}\n`))) process.exitCode = 1;
});
