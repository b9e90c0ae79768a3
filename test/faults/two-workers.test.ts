import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';

const count = 2_000;
const endpoints = 20;

test(
  'two worker processes over 2,000 notifications: each is delivered, and none is sent twice',
  { timeout: 120_000 },
  async () => {
    const sent = new Map<string, number>();
    await using endpoint = await scriptedEndpoint((request, response) => {
      const { to, bizId } = JSON.parse(request.body.toString()) as { to: string; bizId: string };
      const key = `${to} ${bizId}`;
      sent.set(key, (sent.get(key) ?? 0) + 1);
      response.end('success');
    });
    await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
    for (let n = 0; n < endpoints; n += 1) {
      await outbox.putEndpoint({ id: `m${n}`, url: endpoint.url });
      await outbox.sender.notifyMany(
        Array.from({ length: count / endpoints }, (_, i) => ({ endpoint: `m${n}`, ...paid, bizId: `PAY${i}` })),
      );
    }
    const workers = [0, 1].map(() =>
      startChild('worker.mjs', { args: [JSON.stringify({ schema: outbox.schema, start: false })] }),
    );
    for (const worker of workers) await worker.line(/^ready/);

    for (const worker of workers) worker.write('start');

    await awaitUntil(
      'everything is delivered',
      async () => {
        const [row] = await outbox.query<{ delivered: number }>(
          'select count(*)::int as delivered from outbox where state = 1',
        );
        return row?.delivered === count;
      },
      { timeoutMs: 60_000, everyMs: 50 },
    );
    for (const worker of workers) worker.write('stop');
    const summaries = await Promise.all(
      workers.map(
        async (worker) =>
          JSON.parse((await worker.line(/^stopped/)).slice('stopped '.length)) as Record<string, number>,
      ),
    );

    expect(sent.size).toBe(count);
    expect(new Set(sent.values())).toEqual(new Set([1]));
    expect(summaries.map((summary) => summary['lost'])).toEqual([0, 0]);
    expect(summaries.reduce((sum, summary) => sum + (summary['delivered'] ?? 0), 0)).toBe(count);
    for (const summary of summaries) expect(summary['delivered']).toBeGreaterThan(0);
  },
);
