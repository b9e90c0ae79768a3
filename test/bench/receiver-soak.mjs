// Is memory flat under a steady load of notifications that are all different?
import { createHmac, randomUUID } from 'node:crypto';
import { Pool } from 'undici';
import { bodyParts } from './receiver-requests.mjs';

const perSecond = 2_000;
const tickMs = 20;

/** Sends 2,000 distinct notifications per second for `minutes`, and compares the server's memory at the start and at the end. */
export async function soak({ secret, minutes, startServer }) {
  const server = await startServer('receiver on node:http');
  const pool = new Pool(`http://127.0.0.1:${server.port}`, { connections: 32 });
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const { head, tail } = bodyParts(1024);
  const run = randomUUID().slice(0, 8);
  let sent = 0;
  let failed = 0;
  let open = 0;

  const sendOne = async () => {
    const bizId = `SOAK${run}${(sent += 1)}`;
    const id = `ntf_${run}-${sent}`;
    const timestamp = String(Math.floor(Date.now() / 1000));
    const body = head + bizId + tail;
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
    open += 1;
    try {
      const reply = await pool.request({
        path: '/notify',
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': timestamp,
          'webhook-signature': `v1,${signature}`,
        },
      });
      if ((await reply.body.text()) !== 'success') failed += 1;
    } catch {
      failed += 1;
    } finally {
      open -= 1;
    }
  };

  const samples = [];
  const startedAtMs = performance.now();
  const endsAtMs = startedAtMs + minutes * 60_000;
  const sampleEveryMs = Math.max(1_000, (minutes * 60_000) / 60);
  let nextSampleAtMs = startedAtMs;
  while (performance.now() < endsAtMs) {
    const due = Math.floor(((performance.now() - startedAtMs) / 1000) * perSecond) - sent;
    for (let i = 0; i < due && open < 2_000; i += 1) void sendOne();
    if (performance.now() >= nextSampleAtMs) {
      nextSampleAtMs += sampleEveryMs;
      const { rssBytes, handled } = await server.facts();
      samples.push(rssBytes / 1024 / 1024);
      console.log(
        `${((performance.now() - startedAtMs) / 60_000).toFixed(1)} min  sent ${sent}  handled ${handled}  server ${samples.at(-1).toFixed(1)} MiB`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  while (open > 0) await new Promise((resolve) => setTimeout(resolve, tickMs));
  const { handled } = await server.facts();
  await pool.close();
  await server.stop();

  // The first third fills caches and grows the heap to its working size; after that it may breathe, but not climb.
  const settled = samples.slice(Math.floor(samples.length / 3));
  const half = Math.floor(settled.length / 2);
  const mean = (list) => list.reduce((sum, value) => sum + value, 0) / Math.max(1, list.length);
  const growth = mean(settled.slice(half)) / mean(settled.slice(0, half));
  console.log(
    JSON.stringify({
      bench: 'receiver-soak',
      minutes,
      sent,
      failed,
      handled,
      perSecond: Math.round(sent / (minutes * 60)),
      memoryGrowth: Math.round(growth * 1000) / 1000,
      flat: growth < 1.1,
      valid: sent >= perSecond * minutes * 60 * 0.95 && failed === 0,
    }),
  );
}
