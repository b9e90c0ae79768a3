import { newNotificationId } from '@bestnotify/protocol';
import { serve } from '../harness/child.mjs';
import { attemptLog } from './attempt-log.mjs';
import { signedPosts } from './signed-post.mjs';

/** A job that waits for its attempt to be written holds no connection: more jobs than connections keep these busy. */
const jobsPerConnection = 4;

/**
 * Runs a queue as a deliverer of notifications: what the queue brings is enqueueing, claiming, completing and retrying; signing,
 * posting and the attempt history are ours, the same for every queue. As in the sender, nothing counts as delivered before
 * its attempt is on disk.
 *
 * @param open - given where to connect, `jobsAtOnce` and `send`, which delivers one job's data and throws unless it was acknowledged; returns
 *   `enqueue(jobs)`, `start()` and `pause()` for its worker, `left()` for the jobs that are not completed, and `close()`.
 */
export async function runPeer(name, open) {
  await serve(async (facts) => {
    const posts = signedPosts(facts);
    const log = await attemptLog({ databaseUrl: facts.databaseUrl, table: `bench_${name}_attempt` });
    let delivered = 0;
    let onCount = () => undefined;
    const send = async ({ id, endpoint, body }) => {
      const startedAtMs = Date.now();
      const { status, text } = await posts.post({ id, endpoint, body: Buffer.from(body) });
      const durationMs = Date.now() - startedAtMs;
      const outcome = status === 200 && text === 'success' ? 'acknowledged' : 'refused';
      await log.add({
        id,
        startedAt: new Date(startedAtMs),
        durationMs,
        outcome,
        status,
        snippet: text,
        url: facts.url,
      });
      if (outcome !== 'acknowledged') throw new Error(`refused: ${status}`);
      onCount(++delivered);
    };
    const queue = await open({ ...facts, jobsAtOnce: facts.concurrency * jobsPerConnection, send });
    let expected = 0;
    return {
      async enqueue({ bodies, count }) {
        const texts = bodies.map((body) => Buffer.from(body, 'base64').toString());
        for (let at = 0; at < count; at += 1_000) {
          const size = Math.min(1_000, count - at);
          await queue.enqueue(
            Array.from({ length: size }, (_, index) => ({
              id: newNotificationId(Date.now()),
              endpoint: at + index,
              body: texts[(at + index) % texts.length],
            })),
          );
        }
      },
      /** Resolves to what `count` deliveries took, until the last attempt is written; its completion may come later. */
      async deliver({ count }) {
        delivered = 0;
        const reached = new Promise((resolve) => {
          onCount = (now) => now === count && resolve();
        });
        const startedAtMs = performance.now();
        const cpuBefore = process.cpuUsage();
        await queue.start();
        await reached;
        const { user, system } = process.cpuUsage(cpuBefore);
        const tookMs = performance.now() - startedAtMs;
        await queue.pause();
        expected += count;
        const logged = await log.count();
        const left = await queue.left();
        if (left > 0) throw new Error(`${left} jobs were delivered and not completed`);
        if (logged !== expected) throw new Error(`${logged} attempts were recorded for ${expected} notifications`);
        return { tookMs, cpuMs: (user + system) / 1_000 };
      },
      async stop() {
        await queue.close();
        await posts.close();
        await log.close();
      },
    };
  });
}
