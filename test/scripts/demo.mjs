// `npm run demo`: makes the clone ready, then runs the example. What follows `--` goes to the example: `--once` plays the story and exits.
import { bootstrap } from './bootstrap.mjs';

try {
  await bootstrap();
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
await import('../../examples/payment-platform/dist/main.js');
