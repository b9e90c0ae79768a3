// A platform on the embedded database, for test/sender/embedded.test.ts: opens it, says so, and enqueues an event per line of stdin.
import { createInterface } from 'node:readline';
import { createSender } from '@bestnotify/sender';

const sender = createSender({ source: 'acme-pay', database: `pglite:${process.argv[2]}` });
const say = (...words) => process.stdout.write(`${words.join(' ')}\n`);
try {
  if (process.argv[3] === 'wait') {
    say('waiting');
    await new Promise((resolve) => process.stdin.once('data', resolve));
  }
  await sender.migrate();
  say('open');
} catch (error) {
  say('refused', error.code, error.message);
  process.exit(0);
}
for await (const bizId of createInterface({ input: process.stdin })) {
  if (bizId === 'close') break;
  const { id } = await sender.notify({ endpoint: 'merchant-42', type: 'payment.success', bizId, data: {} });
  say('acked', id);
}
await sender.close();
say('closed');
process.exit(0);
