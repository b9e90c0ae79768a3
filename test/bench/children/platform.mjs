// A platform's process: enqueues payments at a steady rate, each in a transaction of its own, and may have a worker beside it.
import postgres from 'postgres';
import { serve } from '../harness/child.mjs';
import { openSender, payment } from '../harness/outbox.mjs';

await serve(({ databaseUrl, schema, worker }) => {
  const sender = openSender({ databaseUrl, schema });
  const client = postgres(databaseUrl, { max: 10, onnotice: () => undefined });
  sender.on('error', ({ during, error }) => console.error(`platform, during ${during}:`, error));
  if (worker !== undefined) sender.startWorker(worker);
  return {
    /**
     * Enqueues `count` payments to `endpoints` merchants at `perSecond`.
     *
     * @returns for each its id and when its COMMIT was about to be sent, on the machine's monotonic clock in ms: that the commit itself takes counts.
     */
    async payAtRate({ from, count, perSecond, endpoints, isNudging }) {
      const startedAtMs = performance.now();
      const paid = [];
      for (let index = 0; index < count; index++) {
        await until(startedAtMs + (index * 1_000) / perSecond);
        const event = { endpoint: `merchant-${(from + index) % endpoints}`, ...payment(from + index) };
        const work = async (tx) => {
          const { id } = await sender.notify(event, { tx });
          return { id, committedAtMs: nowMs() };
        };
        paid.push(isNudging ? sender.transaction(client, work) : client.begin(work));
      }
      return Promise.all(paid);
    },
    /** Enqueues `count` at once: nothing of it is visible before all is. */
    async payAtOnce({ from, count, endpoints }) {
      const batch = 1_000;
      await client.begin(async (tx) => {
        for (let at = from; at < from + count; at += batch) {
          const size = Math.min(batch, from + count - at);
          await sender.notifyMany(
            Array.from({ length: size }, (_, index) => ({
              endpoint: `merchant-${(at + index) % endpoints}`,
              ...payment(at + index),
            })),
            { tx },
          );
        }
      });
    },
    async stop() {
      await sender.close();
      await client.end();
    },
  };
});

/** The same clock in every process of the machine. */
function nowMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}

function until(atMs) {
  const leftMs = atMs - performance.now();
  return leftMs > 0 ? new Promise((resolve) => setTimeout(resolve, leftMs)) : undefined;
}
