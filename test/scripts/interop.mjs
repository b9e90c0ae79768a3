// `npm run interop`: everything that speaks this protocol without our code, in both directions, as a table; the last line is JSON.
import { bootstrap } from './bootstrap.mjs';

try {
  await bootstrap();
  const { runInterop } = await import('../interop/main.mjs'); // after the bootstrap: it imports the built packages
  const score = await runInterop((line) => process.stderr.write(`${line}\n`));
  if (!score.print((line) => process.stdout.write(`${line}\n`))) process.exitCode = 1;
} catch (error) {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
}
