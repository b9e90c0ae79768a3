// npm run bench -- fairness [--rounds n] [--seconds n] [--backlog n] [--due n] [--quick]
// 999 healthy endpoints beside one that times out with 200,000 notifications due, with and without the breaker, or answers after 9 s: their p99 and throughput against a run without it.
import { readArguments } from './harness/arguments.mjs';
import { startChild } from './harness/child.mjs';
import { printConditions } from './harness/conditions.mjs';
import { writeRows } from './harness/fill-outbox.mjs';
import { latencies } from './harness/latencies.mjs';
import { freshOutbox, localEndpoint, putEndpoints } from './harness/outbox.mjs';
import { median, orderOfRound, percentile, round } from './harness/rounds.mjs';
import { startSink } from './harness/sink.mjs';
import { hasHeadroom, limitPerSecond } from './harness/validity.mjs';

const databaseUrl = process.env['DATABASE_URL'];
const healthy = 999;
const perSecond = 200;
const { rounds, seconds, backlog, due } = readArguments(
  { rounds: 4, seconds: 4, backlog: 15_000, due: 200_000 },
  { rounds: 1, seconds: 2, backlog: 2_000, due: 10_000 },
);

await printConditions({ databaseUrl });
console.log(`${backlog} due at once for the throughput, ${perSecond} per second for ${seconds} s for the latency`);
const children = [];
const outboxes = [];
const start = async (...facts) => {
  const child = await startChild(...facts);
  children.push(child);
  return child;
};
const sink = await startSink();
try {
  const receiver = await start('children/timed-receiver.mjs');
  const urls = { fast: new URL('notify', sink.url).href, timed: await receiver.ask('url') };
  const silent = await start('children/timed-receiver.mjs', { isSilent: true });
  const slow = await start('children/timed-receiver.mjs', { answersAfterMs: 9_000 });
  const sinkLimit = await limitPerSecond(sink);
  const subjects = await byName({
    without: subject('without', { urls }),
    'times out': subject('parked', { urls, bad: silent }),
    'times out, no breaker': subject('unparked', { urls, bad: silent, breaker: false }),
    'answers after 9 s': subject('slow', { urls, bad: slow }),
  });
  for (const each of Object.values(subjects)) await each.deliver(backlog / 2); // to warm up
  await settleDisk();
  const measured = await measure(subjects, receiver);
  report(measured, sinkLimit);
} finally {
  for (const child of children.toReversed()) await child.stop();
  for (const outbox of outboxes) await outbox.drop();
  await sink.stop();
}

async function measure(subjects, receiver) {
  const names = Object.keys(subjects);
  const measured = Object.fromEntries(names.map((name) => [name, { rate: [], p99Ms: [] }]));
  for (let each = 1; each <= rounds; each++) {
    const line = [];
    for (const name of orderOfRound(names, each)) {
      const rate = await subjects[name].deliver(backlog);
      const p99Ms = percentile(await subjects[name].pay(receiver), 0.99);
      measured[name].rate.push(rate);
      measured[name].p99Ms.push(p99Ms);
      line.push(`${name} ${Math.round(rate)} per second, p99 ${round(p99Ms)} ms`);
    }
    console.log(`round ${each}/${rounds}: ${line.join('; ')}`);
  }
  return measured;
}

function report({ without, ...others }, sinkLimit) {
  const ratios = Object.entries(others).map(([name, { rate, p99Ms }]) => ({
    name,
    // Not the rounds' own ratios: in each the two had other places.
    p99Ratio: round(median(p99Ms) / median(without.p99Ms)),
    throughputRatio: round(median(rate) / median(without.rate)),
  }));
  for (const { name, p99Ratio, throughputRatio } of ratios) {
    console.log(`${name}: p99 ${p99Ratio} times, throughput ${throughputRatio} times that without it`);
  }
  console.log(
    JSON.stringify({
      bench: 'fairness',
      p99Ratio: Math.max(...ratios.map(({ p99Ratio }) => p99Ratio)),
      throughputRatio: Math.min(...ratios.map(({ throughputRatio }) => throughputRatio)),
      ...{ p99Ms: round(median(without.p99Ms)), perSecond: Math.round(median(without.rate)), ratios },
      valid: hasHeadroom(median(without.rate), { sink: sinkLimit }),
    }),
  );
}

/**
 * An outbox, a worker process that runs all the time, and a platform's process that enqueues for it. With `bad`, one more
 * endpoint receives there, and its backlog is due before the worker starts.
 */
async function subject(name, { urls, bad, breaker = true }) {
  const outbox = await freshOutbox(`fairness_${name}`);
  outboxes.push(outbox);
  const { schema, sql } = outbox;
  await putEndpoints(outbox, { count: healthy, url: urls.fast });
  if (bad !== undefined) await putDead(outbox, await bad.ask('url'));
  const platform = await start('children/platform.mjs', { databaseUrl, schema });
  const worker = await start('children/worker.mjs', { databaseUrl, schema, options: { breaker } });
  await worker.ask('start');
  let from = 0;
  const take = (count) => (from += count) - count;
  const receiveAt = (url) => sql`update endpoint set url = ${url} where id like 'merchant-%' and url <> ${url}`;
  return {
    /** How many per second, of so many that become due at once. */
    async deliver(count) {
      await receiveAt(urls.fast);
      await worker.ask('begin');
      await platform.ask('payAtOnce', { from: take(count), count, endpoints: healthy });
      return count / ((await worker.ask('deliverMore', { count })) / 1_000);
    },
    /** The latencies at a steady rate that leaves room. */
    async pay(receiver) {
      await receiveAt(urls.timed);
      await receiver.ask('begin');
      const count = perSecond * (1 + seconds);
      const facts = { from: take(count), count, perSecond, endpoints: healthy, isNudging: false };
      return latencies(receiver, await platform.ask('payAtRate', facts), perSecond);
    },
  };
}

/** What the preparation left to be vacuumed and written belongs to none of the subjects. */
async function settleDisk() {
  const [{ sql }] = outboxes;
  await sql`vacuum (analyze)`;
  await sql`checkpoint`;
}

async function byName(promises) {
  const values = await Promise.all(Object.values(promises));
  return Object.fromEntries(Object.keys(promises).map((name, index) => [name, values[index]]));
}

async function putDead(outbox, url) {
  await outbox.sender.endpoints.put(localEndpoint({ id: 'dead', url }));
  const first = 1_000_000_000; // far from the numbers of the others
  await writeRows(outbox.sql, { from: first, count: due, endpoint: `'dead'`, bodyBytes: 100 });
}
