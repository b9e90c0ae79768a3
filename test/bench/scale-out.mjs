// npm run bench -- scale-out [--rounds n] [--seconds n] [--quick]
// Four worker processes beside one, 32 slots each, to a sink that answers after 100 ms; no notification may be sent twice.
import { readArguments } from './harness/arguments.mjs';
import { startChild } from './harness/child.mjs';
import { printConditions } from './harness/conditions.mjs';
import { enqueuePayments, freshOutbox, putEndpoints } from './harness/outbox.mjs';
import { interleave, median, medianRatio } from './harness/rounds.mjs';
import { hasHeadroom, limitPerSecond } from './harness/validity.mjs';

const databaseUrl = process.env['DATABASE_URL'];
const concurrency = 32;
const answersAfterMs = 100;
const workers = 4;
const endpoints = 100;
const { rounds, seconds } = readArguments({ rounds: 3, seconds: 10 }, { rounds: 1, seconds: 3 });
/** What the slots could do if nothing but the sink took time. */
const mostPerSecond = (concurrency * 1_000) / answersAfterMs;

await printConditions({ databaseUrl });
console.log(
  `${concurrency} slots a worker, answers after ${answersAfterMs} ms: at most ${mostPerSecond} per second and worker`,
);
const children = [];
const outbox = await freshOutbox('scale_out');
let enqueued = 0;
let duplicateSends = 0;
try {
  const sink = await start('children/timed-receiver.mjs', { answersAfterMs });
  const url = await sink.ask('url');
  await putEndpoints(outbox, { count: endpoints, url });
  const all = [];
  const facts = { databaseUrl, schema: outbox.schema, options: { concurrency } };
  for (let each = 0; each < workers; each++) all.push(await start('children/worker.mjs', facts));
  // As many connections as it would take to reach twice the measured rate, were the sink not the limit.
  const sinkLimit = await limitPerSecond({ url }, { connections: 4 * workers * concurrency });
  const rate = (chosen) => () => deliver(sink, chosen);
  const measured = await interleave({ one: rate(all.slice(0, 1)), four: rate(all) }, { rounds });
  console.log(
    JSON.stringify({
      bench: 'scale-out',
      ratio: medianRatio(measured.four, measured.one),
      duplicateSends,
      ...{ onePerSecond: Math.round(median(measured.one)), fourPerSecond: Math.round(median(measured.four)) },
      valid: hasHeadroom(median(measured.four), { sink: sinkLimit }),
    }),
  );
} finally {
  for (const child of children.toReversed()) await child.stop();
  await outbox.drop();
}

async function start(...facts) {
  const child = await startChild(...facts);
  children.push(child);
  return child;
}

/** The rate from the workers' start to the last answer. */
async function deliver(sink, chosen) {
  const count = Math.round(mostPerSecond * chosen.length * seconds);
  await enqueuePayments(outbox, { from: enqueued, count, endpoints });
  enqueued += count;
  await sink.ask('begin');
  const startedAtMs = Number(process.hrtime.bigint()) / 1e6;
  await Promise.all(chosen.map((worker) => worker.ask('start')));
  const endedAtMs = await sink.ask('answered', { count });
  await Promise.all(chosen.map((worker) => worker.ask('finish')));
  const { arrivals, requests } = await sink.ask('arrivals');
  if (arrivals.length !== count) throw new Error(`${arrivals.length} of ${count} notifications came`);
  duplicateSends += requests - arrivals.length;
  return count / ((endedAtMs - startedAtMs) / 1_000);
}
