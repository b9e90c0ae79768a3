import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { hang, scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';

const backlog = 20_000;
const healthy = 50;
const each = 10;
/** A few seconds, on a machine that does something else at the same time. */
const withinMs = 5_000;

test(
  'while 20,000 notifications are due to a merchant that never answers, fifty others get theirs within seconds from 20 slots (R172)',
  { timeout: 120_000 },
  async () => {
    const arrivedAtMs: number[] = [];
    await using hanging = await scriptedEndpoint(hang);
    await using answering = await scriptedEndpoint((_request, response) => {
      arrivedAtMs.push(performance.now());
      response.end('success');
    });
    await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
    await outbox.putEndpoint({ id: 'hanging', url: hanging.url });
    for (let from = 0; from < backlog; from += 1_000) {
      await outbox.sender.notifyMany(
        Array.from({ length: 1_000 }, (_, n) => ({ endpoint: 'hanging', ...paid, bizId: `PAY${from + n}` })),
      );
    }
    for (let n = 0; n < healthy; n += 1) await outbox.putEndpoint({ id: `m${n}`, url: answering.url });
    await outbox.sender.notifyMany(
      Array.from({ length: healthy * each }, (_, n) => ({ endpoint: `m${n % healthy}`, ...paid, bizId: `PAY${n}` })),
    );

    const startedAtMs = performance.now();
    const worker = outbox.sender.startWorker({ concurrency: 20 });
    await awaitUntil('the others have theirs', () => arrivedAtMs.length === healthy * each, {
      timeoutMs: 60_000,
    }).finally(() => worker.stop({ graceMs: 0 }));

    const delaysMs = arrivedAtMs.map((atMs) => atMs - startedAtMs).sort((a, b) => a - b);
    expect(delaysMs.at(Math.floor(delaysMs.length * 0.99))).toBeLessThan(withinMs);
    expect(hanging.requests.length).toBeGreaterThan(0); // it has its share, and no more
    expect(hanging.requests.length).toBeLessThanOrEqual(3);
    const [row] = await outbox.query<{ charged: number }>('select sum(attempts)::int as charged from outbox');
    expect(row?.charged).toBe(healthy * each);
  },
);
