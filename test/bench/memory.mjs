// npm run bench -- memory [--pending n] [--seconds n] [--quick]
// How much memory a worker needs with 1 million notifications due, above what it needs with none.
import { readArguments } from './harness/arguments.mjs';
import { startChild } from './harness/child.mjs';
import { printConditions } from './harness/conditions.mjs';
import { bulkFill } from './harness/fill-outbox.mjs';
import { freshOutbox, putEndpoints } from './harness/outbox.mjs';
import { round } from './harness/rounds.mjs';
import { startSink } from './harness/sink.mjs';

const databaseUrl = process.env['DATABASE_URL'];
const endpoints = 1_000;
const { pending, seconds } = readArguments({ pending: 1_000_000, seconds: 45 }, { pending: 50_000, seconds: 3 });

await printConditions({ databaseUrl });
const sink = await startSink();
const outbox = await freshOutbox('memory');
const { schema } = outbox;
let worker;
try {
  await putEndpoints(outbox, { count: endpoints, url: new URL('notify', sink.url).href });
  worker = await startChild('children/worker.mjs', { databaseUrl, schema, options: {} });
  await worker.ask('start');
  const idle = await worker.ask('mostRssMb', { seconds: Math.min(seconds, 10) });
  await worker.ask('finish');
  console.log(`idle: ${Math.round(idle.rssMb)} MiB`);
  await fill();
  await worker.ask('start');
  const busy = await worker.ask('mostRssMb', { seconds });
  const [{ due }] = await outbox.sql`select count(*)::int as due from outbox where state = 0`;
  console.log(`${busy.delivered} delivered in ${seconds} s, ${due} still due; at most ${Math.round(busy.rssMb)} MiB`);
  console.log(
    JSON.stringify({
      bench: 'memory',
      rssAboveIdleMb: round(busy.rssMb - idle.rssMb),
      ...{ idleMb: round(idle.rssMb), busyMb: round(busy.rssMb), stillDue: due },
    }),
  );
} finally {
  await worker?.stop();
  await outbox.drop();
  await sink.stop();
}

async function fill() {
  const startedAtMs = performance.now();
  const rows = await bulkFill(outbox);
  await rows.write({
    from: 1,
    count: pending,
    endpoint: `'merchant-' || (i % ${endpoints})`,
    dueAt: `now() - interval '1 hour' + i * interval '1 millisecond'`,
  });
  await rows.finish();
  console.log(`${pending} due rows written in ${Math.round((performance.now() - startedAtMs) / 1_000)} s`);
}
