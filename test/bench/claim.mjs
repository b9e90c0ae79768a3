// npm run bench -- claim [--claims n] [--settled n] [--pending n] [--endpoints n] [--quick]
// A claim of 500 at 5 million settled and 1 million pending rows beside the same at 10,000; an idle poll over 100,000 endpoints with only future rows
// and 1,000 requests in flight.
import { randomUUID } from 'node:crypto';
import { readArguments } from './harness/arguments.mjs';
import { printConditions } from './harness/conditions.mjs';
import { bulkFill } from './harness/fill-outbox.mjs';
import { freshOutbox, source } from './harness/outbox.mjs';
import { interleave, median, round } from './harness/rounds.mjs';
import { workerPart } from './harness/worker-parts.mjs';

const databaseUrl = process.env['DATABASE_URL'];
const limit = 500;
const few = 10_000;
const merchants = 1_000;
const held = 1_000;
const { claims, settled, pending, endpoints } = readArguments(
  { claims: 9, settled: 5_000_000, pending: 1_000_000, endpoints: 100_000 },
  { claims: 4, settled: 100_000, pending: 50_000, endpoints: 10_000 },
);
const { claimBatch } = await workerPart('worker/claim-batch.ts');
const { claimStatement } = await workerPart('worker/claim-statement.ts');
const { hasLimitedEndpoints } = await workerPart('worker/claim-limited.ts');
const { openPostgres } = await workerPart('outbox/open-postgres.ts');

await printConditions({ databaseUrl });
const outboxes = [];
const database = openPostgres(databaseUrl, { maxConnections: 1 });
try {
  const small = await filled('few', { settled: 0, pending: few });
  const large = await filled('many', { settled, pending });
  const measured = await interleave({ few: claimer(small), many: claimer(large) }, { rounds: claims, unit: 'ms' });
  const idlePollMs = await idlePoll();
  const ratio = round(median(measured.many) / median(measured.few));
  console.log(
    JSON.stringify({
      bench: 'claim',
      ratio,
      ...{ fewMs: round(median(measured.few)), manyMs: round(median(measured.many)) },
      ...{ idlePollMs, settled, pending, endpoints },
    }),
  );
} finally {
  await database.close();
  for (const outbox of outboxes) await outbox.drop();
}

/** All pending rows are due, the oldest first; a fifth of them is one endpoint's backlog. Bodies are short, to have room for many. */
async function filled(name, counts) {
  const outbox = await freshOutbox(`claim_${name}`);
  outboxes.push(outbox);
  const startedAtMs = performance.now();
  await insertEndpoints(outbox, merchants);
  const rows = await bulkFill(outbox);
  const bodyBytes = 100;
  const endpoint = `'merchant-' || case when i % 5 = 0 then 0 else (i / 5 * 4 + i % 5) * 7919 % ${merchants} end`;
  if (counts.settled > 0) await rows.write({ from: 1, count: counts.settled, endpoint, state: 1, bodyBytes });
  await rows.write({
    ...{ from: counts.settled + 1, count: counts.pending, endpoint, bodyBytes },
    dueAt: `now() - interval '1 hour' + (i - ${counts.settled}) * interval '1 millisecond'`,
  });
  await rows.finish();
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  console.log(`${name}: ${counts.settled} settled and ${counts.pending} pending rows, written in ${seconds} s`);
  return outbox;
}

/** A function that claims as a worker does, goes on behind the last endpoint served, and gives the time in ms. */
function claimer({ schema }) {
  let cursor = '0';
  const claim = async () => {
    const startedAtMs = performance.now();
    const batch = await claimBatch(database, {
      ...{ schema, lane: 1, limit, leaseMs: 30_000, token: randomUUID(), cursor },
      ...{ defaultMaxInFlight: 8, inFlight: new Map(), hasBreaker: true },
    });
    const tookMs = performance.now() - startedAtMs;
    if (batch.notifications.length < limit * 0.9) throw new Error(`only ${batch.notifications.length} were claimed`);
    cursor = batch.cursor;
    return tookMs;
  };
  let isWarm = false;
  return async () => {
    if (!isWarm) for (let each = 0; each < 5; each++) await claim(); // from then on the plan is the generic one
    isWarm = true;
    return claim();
  };
}

/** What PostgreSQL says a look at both lanes takes, with everything a worker asks in one poll. */
async function idlePoll() {
  const outbox = await freshOutbox('claim_idle');
  outboxes.push(outbox);
  await insertEndpoints(outbox, endpoints);
  const rows = await bulkFill(outbox);
  const dueAt = `now() + interval '1 hour' + i * interval '1 millisecond'`;
  await rows.write({ from: 1, count: endpoints, endpoint: `'merchant-' || (i - 1)`, dueAt, bodyBytes: 100 });
  await rows.finish();
  await outbox.sql`
    update outbox set due_at = now(), claim_token = gen_random_uuid(), claimed_until = now() + interval '1 hour' where number <= ${held}`;
  if (await hasLimitedEndpoints(database, outbox.schema)) throw new Error('no endpoint has a limit');
  const { sql, schema } = outbox;
  const connection = await sql.reserve();
  const times = [];
  for (const lane of [0, 1]) {
    const statement = claimStatement(schema, { lane, limit });
    await connection.unsafe(
      `prepare poll_${lane} (text, text, float8, int, text, text, boolean, boolean) as ${statement}`,
    );
  }
  for (let poll = 0; poll < 25; poll++) {
    let tookMs = 0;
    for (const lane of [0, 1]) {
      const plan = await connection.unsafe(
        `explain (analyze, format json) execute poll_${lane} ('${endpoints / 2}', '${randomUUID()}', 30000, 8, '{}', '{}', true, true)`,
      );
      tookMs += plan[0]['QUERY PLAN'][0]['Execution Time'];
    }
    if (poll >= 5) times.push(tookMs); // the first ones read the tables into memory
  }
  connection.release();
  const idlePollMs = round(median(times));
  console.log(
    `an idle poll of both lanes over ${endpoints} endpoints, ${held} requests in flight: ${idlePollMs} ms in the database`,
  );
  return idlePollMs;
}

/** Without secrets, which a claim does not read. */
async function insertEndpoints({ sql }, count) {
  await sql`
    insert into endpoint (source, id, url) select ${source}, 'merchant-' || n, 'https://merchant.example/notify' from generate_series(0, ${count - 1}) n`;
  await sql`insert into endpoint_health (endpoint_key) select key from endpoint on conflict do nothing`;
  await sql.unsafe('vacuum (analyze) endpoint, endpoint_health');
}
