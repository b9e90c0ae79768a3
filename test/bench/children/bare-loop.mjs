// The same signed POSTs as the sender makes, by a plain undici loop: no outbox, no retries, no record of anything.
import { newNotificationId, parseSigningKey, signNotification } from '@bestnotify/protocol';
import { Pool } from 'undici';
import { serve } from '../harness/child.mjs';

await serve(({ url, secrets, concurrency }) => {
  const { origin, pathname } = new URL(url);
  const keys = secrets.map((secret) => [parseSigningKey(secret)]);
  return {
    /** POSTs `bodies` (base64) `times` times over, each signed by its merchant's key; resolves to what it took. */
    async run({ bodies, count }) {
      const pool = new Pool(origin, { connections: concurrency });
      const bytes = bodies.map((body) => Buffer.from(body, 'base64'));
      const startedAtMs = performance.now();
      const cpuBefore = process.cpuUsage();
      let next = 0;
      const loop = async () => {
        while (next < count) {
          const number = next++;
          await post(pool, { pathname, body: bytes[number % bytes.length], keys: keys[number % keys.length] });
        }
      };
      await Promise.all(Array.from({ length: concurrency }, loop));
      const { user, system } = process.cpuUsage(cpuBefore);
      const tookMs = performance.now() - startedAtMs;
      await pool.close();
      return { tookMs, cpuMs: (user + system) / 1_000 };
    },
  };
});

async function post(pool, { pathname, body, keys }) {
  const id = newNotificationId(Date.now());
  const timestampSeconds = Math.floor(Date.now() / 1_000);
  const response = await pool.request({
    method: 'POST',
    path: pathname,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(timestampSeconds),
      'webhook-signature': signNotification({ id, timestampSeconds, body, keys }),
      'x-event-type': 'payment.success',
    },
    body,
  });
  const text = await response.body.text();
  if (response.statusCode !== 200 || text !== 'success') throw new Error(`the sink answered ${response.statusCode}`);
}
