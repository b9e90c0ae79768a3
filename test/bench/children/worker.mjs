// One worker process: delivers what is due and says when a number of notifications is settled.
import { setTimeout as pause } from 'node:timers/promises';
import { serve } from '../harness/child.mjs';
import { openSender } from '../harness/outbox.mjs';

await serve(({ databaseUrl, schema, options }) => {
  const sender = openSender({ databaseUrl, schema });
  let worker;
  let delivered = 0;
  let onCount = () => undefined;
  sender.on('delivered', ({ endpoint }) => {
    if (endpoint.startsWith('merchant-')) onCount(++delivered);
  });
  sender.on('error', ({ during, error }) => console.error(`worker, during ${during}:`, error));
  return {
    /** Runs a worker until it has delivered `count`; resolves to what that took, from its start to the last settle. */
    async deliver({ count }) {
      delivered = 0;
      const reached = new Promise((resolve) => {
        onCount = (now) => now === count && resolve();
      });
      const startedAtMs = performance.now();
      const cpuBefore = process.cpuUsage();
      worker = sender.startWorker(options);
      await reached;
      const { user, system } = process.cpuUsage(cpuBefore);
      const tookMs = performance.now() - startedAtMs;
      await worker.stop();
      return { tookMs, cpuMs: (user + system) / 1_000 };
    },
    /** Starts a worker that goes on until the end. */
    async start() {
      worker = sender.startWorker(options);
    },
    /** Counts from here. */
    async begin() {
      delivered = 0;
      onCount = () => undefined;
    },
    /** Wakes it, and resolves when it has delivered `count` to merchants since `begin`, to what that took in ms. */
    async deliverMore({ count }) {
      const reached = new Promise((resolve) => {
        onCount = (now) => now >= count && resolve();
        onCount(delivered); // it may have looked by itself
      });
      const startedAtMs = performance.now();
      worker.nudge();
      await reached;
      return performance.now() - startedAtMs;
    },
    /** Waits for what is in flight, and stops. */
    finish: () => worker.stop(),
    /** The most memory that the process has, looked at for a while, in MiB, and what it delivered meanwhile. */
    async mostRssMb({ seconds }) {
      delivered = 0;
      onCount = () => undefined;
      let most = 0;
      for (const endsAtMs = performance.now() + seconds * 1_000; performance.now() < endsAtMs; await pause(50)) {
        most = Math.max(most, process.memoryUsage.rss());
      }
      return { rssMb: most / 2 ** 20, delivered };
    },
    async stop() {
      await worker?.stop({ graceMs: 0 });
      await sender.close();
    },
  };
});
