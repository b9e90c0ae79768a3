// `npm run demo`: makes the clone ready, then runs the example in this process. What follows `--` goes to the example:
// `npm run demo -- --once` plays the story and exits.
import { bootstrap } from './bootstrap.mjs';
import { main } from './interrupt.mjs';

await main(bootstrap);
if (!process.exitCode) {
  // From here on the example stops by itself, and with exit code 0: stopping it is how it is meant to end.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.removeAllListeners(signal);
  await import('../../examples/payment-platform/dist/main.js');
}
