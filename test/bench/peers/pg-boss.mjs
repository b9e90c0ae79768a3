// pg-boss with batches, fetched without a pause while they come back full.
import { PgBoss } from 'pg-boss';
import postgres from 'postgres';
import { runPeer } from './run-peer.mjs';

await runPeer('pg_boss', async ({ databaseUrl, jobsAtOnce, send }) => {
  const schema = `bench_boss_${process.pid}`;
  const boss = new PgBoss({ connectionString: databaseUrl, schema, max: 10 });
  boss.on('error', (error) => console.error('pg-boss:', error));
  await boss.start();
  await boss.createQueue('notify');
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  return {
    enqueue: (jobs) =>
      boss.insert(
        'notify',
        jobs.map((data) => ({ data })),
      ),
    start: () =>
      // Two batches at once, so that one is sent while the other is fetched or completed.
      boss.work(
        'notify',
        { batchSize: jobsAtOnce, localConcurrency: 2, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true },
        (batch) => Promise.all(batch.map((job) => send(job.data))),
      ),
    pause: () => boss.offWork('notify', { wait: true }),
    async left() {
      const [{ count }] = await sql.unsafe(
        `select count(*)::int as count from ${schema}.job where state < 'completed'`,
      );
      return count;
    },
    async close() {
      await boss.stop({ graceful: false });
      await sql.unsafe(`drop schema ${schema} cascade`);
      await sql.end();
    },
  };
});
