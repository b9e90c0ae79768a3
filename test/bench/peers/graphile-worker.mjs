// graphile-worker with its local queue and batched completion.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { Pool } from 'pg';
import { runPeer } from './run-peer.mjs';

const logger = new Logger(() => (level, message) => level === 'error' && console.error('graphile-worker:', message));

await runPeer('graphile_worker', async ({ databaseUrl, jobsAtOnce, send }) => {
  const schema = `bench_graphile_${process.pid}`;
  const pgPool = new Pool({ connectionString: databaseUrl, max: 10 });
  pgPool.on('error', (error) => console.error('graphile-worker:', error));
  const shared = { pgPool, schema, logger };
  const utils = await makeWorkerUtils(shared);
  await utils.migrate();
  let runner;
  return {
    enqueue: (jobs) => utils.addJobs(jobs.map((payload) => ({ identifier: 'notify', payload }))),
    async start() {
      runner = await run({
        ...shared,
        noHandleSignals: true,
        taskList: { notify: send },
        preset: {
          worker: {
            concurrentJobs: jobsAtOnce,
            localQueue: { size: 500 },
            completeJobBatchDelay: 0,
            failJobBatchDelay: 0,
          },
        },
      });
    },
    pause: () => runner.stop(),
    async left() {
      const { rows } = await pgPool.query(`select count(*)::int as count from ${schema}._private_jobs`);
      return rows[0].count;
    },
    async close() {
      await utils.release();
      await pgPool.query(`drop schema ${schema} cascade`);
      await pgPool.end();
    },
  };
});
