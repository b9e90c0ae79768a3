// npm run bench -- sender [--peers] [--rounds n] [--notifications n] [--quick]
// Signed POSTs delivered per second by one worker process, attempt history kept, beside a bare undici loop and, with --peers, other queues.
import { encodeEnvelope } from '@bestnotify/protocol';
import { readArguments } from './harness/arguments.mjs';
import { nodeOfVersion, startChild } from './harness/child.mjs';
import { printConditions } from './harness/conditions.mjs';
import { enqueuePayments, freshOutbox, payment, putEndpoints, source } from './harness/outbox.mjs';
import { interleave, median, medianRatio, round } from './harness/rounds.mjs';
import { startSink } from './harness/sink.mjs';
import { hasHeadroom, limitPerSecond } from './harness/validity.mjs';

const databaseUrl = process.env['DATABASE_URL'];
const concurrency = 64;
const endpoints = 100;
const { rounds, notifications, peers } = readArguments(
  { rounds: 5, notifications: 20_000, peers: false },
  { rounds: 2, notifications: 1_000 },
);
const peerNames = ['graphile-worker', 'pg-boss', 'bullmq'];

await printConditions({ databaseUrl });
console.log(
  `${notifications} notifications a round to ${endpoints} endpoints, ${concurrency} in flight, one process each`,
);
const sink = await startSink();
const url = new URL('notify', sink.url).href;
const outbox = await freshOutbox('sender');
const secrets = await putEndpoints(outbox, { count: endpoints, url });
const bodies = Array.from({ length: 1_000 }, (_, number) =>
  encodeEnvelope({ source, to: `merchant-${number % endpoints}`, ...payment(number) }).toString('base64'),
);
const children = [];
const cpuMicros = {};
try {
  // Two of the peers need Node 22 or newer: then all run on the same one.
  const node = peers ? await nodeOfVersion(24) : process.execPath;
  if (peers) console.log('every subject runs on Node 24');
  const subjects = { bare: await bareLoop(node), sender: await worker(node) };
  if (peers) for (const name of peerNames) subjects[name] = await peer(name, node);
  const sinkLimit = await limitPerSecond(sink, { connections: concurrency });
  for (const [name, subject] of Object.entries(subjects))
    console.log(`warm-up: ${name} ${Math.round(await subject())}`);
  const requestsBefore = await sink.requests();
  const measured = await interleave(subjects, { rounds });
  const requests = (await sink.requests()) - requestsBefore;
  const expected = Object.keys(subjects).length * rounds * notifications;
  if (requests !== expected) throw new Error(`the sink had ${requests} requests, and ${expected} were reported`);
  report(measured, sinkLimit);
} finally {
  for (const child of children) await child.stop();
  await outbox.drop();
  await sink.stop();
}

function report(measured, sinkLimit) {
  for (const [name, each] of Object.entries(cpuMicros)) {
    console.log(`processor time per request: ${name} ${Math.round(median(each.slice(1)))} µs in its own process`);
  }
  const deliveredPerSecond = Math.round(median(measured.sender));
  const barePerSecond = Math.round(median(measured.bare));
  const rates = Object.fromEntries(
    peerNames.filter((name) => name in measured).map((name) => [name, median(measured[name])]),
  );
  const [best] = Object.entries(rates).sort(([, a], [, b]) => b - a);
  console.log(
    JSON.stringify({
      bench: 'sender',
      deliveredPerSecond,
      barePerSecond,
      ratio: medianRatio(measured.sender, measured.bare),
      ...(best && {
        bestPeerRatio: medianRatio(measured.sender, measured[best[0]]),
        bestPeer: best[0],
        peersPerSecond: Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, Math.round(rate)])),
        peersOfBare: Object.fromEntries(
          Object.keys(rates).map((name) => [name, medianRatio(measured[name], measured.bare)]),
        ),
      }),
      senderMicros: round(median(cpuMicros.sender.slice(1))),
      bareMicros: round(median(cpuMicros.bare.slice(1))),
      valid: hasHeadroom(Math.max(barePerSecond, deliveredPerSecond), { sink: sinkLimit }),
    }),
  );
}

/** Notes what the process took, and gives the rate. */
function rateOf(name, { tookMs, cpuMs }) {
  (cpuMicros[name] ??= []).push((cpuMs / notifications) * 1_000);
  return notifications / (tookMs / 1_000);
}

async function bareLoop(node) {
  const child = await startChild('children/bare-loop.mjs', { url, secrets, concurrency }, { node });
  children.push(child);
  return async () => rateOf('bare', await child.ask('run', { bodies, count: notifications }));
}

async function worker(node) {
  const facts = { databaseUrl, schema: outbox.schema, options: { concurrency } };
  const child = await startChild('children/worker.mjs', facts, { node });
  children.push(child);
  let enqueued = 0;
  return async () => {
    await enqueuePayments(outbox, { from: enqueued, count: notifications, endpoints });
    enqueued += notifications;
    const rate = rateOf('sender', await child.ask('deliver', { count: notifications }));
    const [{ logged }] = await outbox.sql`select count(*)::int as logged from attempt where outcome = 'acknowledged'`;
    if (logged !== enqueued) throw new Error(`${logged} attempts were recorded for ${enqueued} notifications`);
    return rate;
  };
}

async function peer(name, node) {
  const child = await startChild(
    `peers/${name}.mjs`,
    { databaseUrl, redisUrl: process.env['REDIS_URL'], url, secrets, concurrency },
    { node },
  );
  children.push(child);
  return async () => {
    await child.ask('enqueue', { bodies, count: notifications });
    return rateOf(name, await child.ask('deliver', { count: notifications }));
  };
}
