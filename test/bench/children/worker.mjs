// One worker process: delivers what is due and says when a number of notifications is settled.
import { serve } from '../harness/child.mjs';
import { openSender } from '../harness/outbox.mjs';

await serve(({ databaseUrl, schema, options }) => {
  const sender = openSender({ databaseUrl, schema });
  let worker;
  let delivered = 0;
  let onCount = () => undefined;
  sender.on('delivered', () => onCount(++delivered));
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
    stop: () => sender.close(),
  };
});
