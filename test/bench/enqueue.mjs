// npm run bench -- enqueue [--rounds n] [--batches n] [--quick]
// notifyMany of 1,000 beside a bare multi-row INSERT of the same bytes and facts into a plain table with a primary key; statements that notify adds.
import { createHash } from 'node:crypto';
import { encodeEnvelope, newNotificationId } from '@bestnotify/protocol';
import postgres from 'postgres';
import { readArguments } from './harness/arguments.mjs';
import { printConditions } from './harness/conditions.mjs';
import { freshOutbox, payment, putEndpoints, source } from './harness/outbox.mjs';
import { interleave, median, medianRatio } from './harness/rounds.mjs';

const databaseUrl = process.env['DATABASE_URL'];
const batchSize = 1_000;
const endpoints = 100;
const { rounds, batches } = readArguments({ rounds: 9, batches: 10 }, { rounds: 2, batches: 2 });

await printConditions({ databaseUrl });
console.log(`${batches} batches of ${batchSize} a round to ${endpoints} endpoints`);
const outbox = await freshOutbox('enqueue');
const { sql, sender } = outbox;
try {
  await putEndpoints(outbox, { count: endpoints, url: 'https://merchant.example/notify' });
  await createPlainTable();
  let numbered = 0;
  const next = () => ({ from: (numbered += batchSize) });
  await notify(next()); // both statements are prepared
  await insert(next());
  const measured = await interleave(
    { bare: () => perSecond(insert, next), notifyMany: () => perSecond(notify, next) },
    { rounds },
  );
  const statementsAdded = await countStatements();
  console.log(`notify in the caller's transaction adds ${statementsAdded} statement(s)`);
  console.log(
    JSON.stringify({
      bench: 'enqueue',
      notifyManyPerSecond: Math.round(median(measured.notifyMany)),
      barePerSecond: Math.round(median(measured.bare)),
      ratio: medianRatio(measured.notifyMany, measured.bare),
      statementsAdded,
    }),
  );
} finally {
  await outbox.drop();
}

async function perSecond(write, next) {
  let tookMs = 0;
  for (let batch = 0; batch < batches; batch++) tookMs += await write(next());
  return (batches * batchSize) / (tookMs / 1_000);
}

function events(from) {
  return Array.from({ length: batchSize }, (_, index) => ({
    endpoint: `merchant-${index % endpoints}`,
    ...payment(from + index),
  }));
}

async function notify({ from }) {
  const input = events(from);
  const startedAtMs = performance.now();
  await sender.notifyMany(input);
  return performance.now() - startedAtMs;
}

/** What a platform would write by hand. Everything is made beforehand, and nothing is looked up or checked. */
async function insert({ from }) {
  const rows = events(from).map(({ endpoint, type, bizId, subject, ...rest }) => {
    const body = encodeEnvelope({ source, to: endpoint, type, bizId, subject, ...rest });
    return {
      id: newNotificationId(Date.now()).slice('ntf_'.length),
      key_hash: sha256(`${source} ${endpoint} ${type} ${bizId}`),
      digest: sha256(body),
      ...{ source, endpoint, type, biz_id: bizId, subject, url: null, lane: 1, policy: null, max_attempts: null },
      ...{ content_type: 'application/json', body },
    };
  });
  const startedAtMs = performance.now();
  await sql`insert into plain ${sql(rows)}`;
  return performance.now() - startedAtMs;
}

async function createPlainTable() {
  await sql.unsafe(`create table plain (id uuid primary key, key_hash bytea not null, digest bytea not null,
    source text not null, endpoint text not null, type text not null, biz_id text not null, subject text, url text,
    lane smallint not null, policy text, max_attempts integer, content_type text not null, body bytea not null,
    state smallint not null default 0, created_at timestamptz not null default now(), due_at timestamptz not null default now())`);
}

function sha256(data) {
  return createHash('sha256').update(data).digest();
}

/** Statements in a business transaction with a notification, less those of the same one without. */
async function countStatements() {
  let statements = 0;
  const client = postgres(databaseUrl, { max: 1, fetch_types: false, debug: () => statements++ });
  const count = async (work) => {
    statements = 0;
    await client.begin(async (tx) => {
      await tx`select 1 as business`;
      await work(tx);
    });
    return statements;
  };
  await count(() => undefined);
  const without = await count(() => undefined);
  const withNotify = await count((tx) => sender.notify({ endpoint: 'merchant-0', ...payment(999_999_999) }, { tx }));
  await client.end();
  return withNotify - without;
}
