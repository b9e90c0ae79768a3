// npm run bench -- latency [--rounds n] [--seconds n] [--quick]
// From a platform's commit to the receiver's first byte at 200 payments per second: with the nudge of sender.transaction, and with polling alone every 200 ms.
import { readArguments } from './harness/arguments.mjs';
import { startChild } from './harness/child.mjs';
import { printConditions } from './harness/conditions.mjs';
import { latencies } from './harness/latencies.mjs';
import { freshOutbox, putEndpoints } from './harness/outbox.mjs';
import { median, percentile, round } from './harness/rounds.mjs';

const databaseUrl = process.env['DATABASE_URL'];
const perSecond = 200;
const endpoints = 100;
const pollMs = 200;
const { rounds, seconds } = readArguments({ rounds: 3, seconds: 10 }, { rounds: 1, seconds: 2 });

await printConditions({ databaseUrl });
console.log(`${perSecond} payments per second to ${endpoints} endpoints for ${seconds} s a round, each a transaction`);
const children = [];
const outboxes = [];
const start = async (...facts) => {
  const child = await startChild(...facts);
  children.push(child);
  return child;
};
try {
  const receiver = await start('children/timed-receiver.mjs');
  const url = await receiver.ask('url');
  const subjects = { nudged: await nudged(url), polled: await polled(url) };
  const measured = { nudged: [], polled: [] };
  for (const subject of Object.values(subjects)) await subject(receiver, perSecond); // a second to warm up
  for (let each = 1; each <= rounds; each++) {
    const line = [];
    for (const [name, subject] of Object.entries(subjects)) {
      const times = await subject(receiver, perSecond * seconds);
      const facts = { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) };
      measured[name].push(facts);
      line.push(`${name} p50 ${round(facts.p50Ms)}, p99 ${round(facts.p99Ms)} ms`);
    }
    console.log(`round ${each}/${rounds}: ${line.join('; ')}`);
  }
  const middle = (name, fact) => round(median(measured[name].map((facts) => facts[fact])));
  console.log(
    JSON.stringify({
      bench: 'latency',
      ...{ p50Ms: middle('nudged', 'p50Ms'), p99Ms: middle('nudged', 'p99Ms') },
      ...{ pollingP50Ms: middle('polled', 'p50Ms'), pollingP99Ms: middle('polled', 'p99Ms') },
      ...{ perSecond, pollMs },
    }),
  );
} finally {
  for (const child of children.toReversed()) await child.stop();
  for (const outbox of outboxes) await outbox.drop();
}

/** The worker is in the platform's process. Its polls at an empty outbox are so rare that only the nudge can be quick. */
async function nudged(url) {
  const { schema } = await outboxTo('latency_nudged', url);
  const worker = { minPollMs: 2_000, maxPollMs: 2_000 };
  const platform = await start('children/platform.mjs', { databaseUrl, schema, worker });
  return pay(platform, { isNudging: true });
}

async function polled(url) {
  const { schema } = await outboxTo('latency_polled', url);
  const platform = await start('children/platform.mjs', { databaseUrl, schema });
  const options = { minPollMs: pollMs, maxPollMs: pollMs };
  const worker = await start('children/worker.mjs', { databaseUrl, schema, options });
  await worker.ask('start');
  return pay(platform, { isNudging: false });
}

async function outboxTo(name, url) {
  const outbox = await freshOutbox(name);
  outboxes.push(outbox);
  await putEndpoints(outbox, { count: endpoints, url });
  return outbox;
}

function pay(platform, { isNudging }) {
  let from = 0;
  return async (receiver, count) => {
    await receiver.ask('begin');
    const paid = await platform.ask('payAtRate', { from, count, perSecond, endpoints, isNudging });
    from += count;
    return latencies(receiver, paid);
  };
}
