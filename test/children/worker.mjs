// A worker process for test/faults: its options are the first argument, as JSON. It says what it does, a line for each event, and takes
// orders from stdin: `start`, `stop`, `block <ms>`, `resend-dead`. SIGTERM stops it in two stages, as the command does.
import { createInterface } from 'node:readline';
import { createSender } from '@bestnotify/sender';

const { schema, database, start, postgres, alerts, graceMs = 15_000, ...options } = JSON.parse(process.argv[2]);
const sender = createSender({
  source: 'acme-pay',
  database: database ?? process.env.DATABASE_URL,
  schema,
  allowPrivateNetwork: ['127.0.0.0/8'],
  secretStorage: { keys: [{ id: 'test', key: Buffer.alloc(32, 1).toString('base64') }] },
  postgres: { maxConnections: 3, ...postgres },
  alerts,
});
const say = (...words) => process.stdout.write(`${words.join(' ')}\n`);
sender.on('attempt', ({ bizId, because }) => say('attempt', bizId, because));
sender.on('delivered', ({ bizId, reason }) => say('delivered', bizId, reason));
sender.on('dead', ({ bizId, reason }) => say('dead', bizId, reason));
sender.on('claimLost', ({ bizId }) => say('lost', bizId));
sender.on('error', ({ during, error }) => say('error', during, error));

let worker;
const begin = () => {
  worker = sender.startWorker({ minPollMs: 10, maxPollMs: 50, ...options });
  say('started', new Date().toISOString());
};
const end = async (ms) => {
  say('stopped', JSON.stringify(await worker.stop({ graceMs: ms })));
  await sender.close();
  process.exit(0);
};
let isStopping = false;
process.on('SIGTERM', () => {
  if (isStopping) process.exit(143);
  isStopping = true;
  void end(graceMs);
});
if (start !== false) begin();
say('ready');

for await (const line of createInterface({ input: process.stdin })) {
  const [order, argument] = line.split(' ');
  if (order === 'start') begin();
  if (order === 'block') {
    say('blocked');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(argument));
    say('unblocked');
  }
  if (order === 'resend-dead') {
    const onProgress = ({ run, resent }) => say('resent', run, resent);
    await sender.operations.resendMany({ state: 'dead' }, { perSecond: Number(argument), onProgress });
    say('resent all');
  }
  if (order === 'stop') await end(Number(argument ?? graceMs));
}
