import postgres from 'postgres';

const maxBatch = 250;
const flushAfterMs = 5;

/** The attempt history that the peers do not keep themselves: rows in PostgreSQL, written in batches. */
export async function attemptLog({ databaseUrl, table }) {
  const sql = postgres(databaseUrl, { max: 2, onnotice: () => undefined });
  await sql.unsafe(`drop table if exists ${table}; create table ${table} (
    number bigint generated always as identity primary key, notification_id text not null, started_at timestamptz not null,
    duration_ms integer not null, outcome text not null, status integer, snippet text, url text not null)`);
  let waiting = [];
  let running;
  const write = async (batch) => {
    await sql.unsafe(
      `insert into ${table} (notification_id, started_at, duration_ms, outcome, status, snippet, url)
       select * from jsonb_to_recordset($1::text::jsonb)
         as r(id text, "startedAt" timestamptz, "durationMs" integer, outcome text, status integer, snippet text, url text)`,
      [JSON.stringify(batch.map(({ attempt }) => attempt))],
      { prepare: true },
    );
    for (const { done } of batch) done();
  };
  const run = async () => {
    await new Promise((resolve) => setTimeout(resolve, flushAfterMs));
    while (waiting.length > 0) await write(waiting.splice(0, maxBatch));
    running = undefined;
  };
  return {
    /** Resolves when the attempt is on disk. */
    add(attempt) {
      return new Promise((resolve) => {
        waiting.push({ attempt, done: resolve });
        running ??= run();
      });
    },
    async count() {
      const [{ count }] = await sql.unsafe(`select count(*)::int as count from ${table}`);
      return count;
    },
    async close() {
      await sql.unsafe(`drop table if exists ${table}`);
      await sql.end();
    },
  };
}
