// BullMQ on Redis.
import { Queue, Worker } from 'bullmq';
import { runPeer } from './run-peer.mjs';

await runPeer('bullmq', async ({ redisUrl, jobsAtOnce, send }) => {
  const name = `bench-${process.pid}`;
  const connection = { url: redisUrl, maxRetriesPerRequest: null };
  const queue = new Queue(name, { connection, defaultJobOptions: { removeOnComplete: true } });
  const worker = new Worker(name, (job) => send(job.data), { connection, concurrency: jobsAtOnce, autorun: false });
  worker.on('error', (error) => console.error('bullmq:', error));
  await worker.waitUntilReady();
  await queue.pause();
  worker.run().catch((error) => console.error('bullmq:', error));
  return {
    enqueue: (jobs) => queue.addBulk(jobs.map((data) => ({ name: 'notify', data }))),
    start: () => queue.resume(),
    pause: () => queue.pause(),
    async left() {
      const counts = await queue.getJobCounts('wait', 'paused', 'active', 'delayed');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    async close() {
      await worker.close();
      await queue.obliterate({ force: true });
      await queue.close();
    },
  };
});
