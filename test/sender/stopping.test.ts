import { describe, expect, test } from 'vitest';
import { createHooks } from '../../packages/sender/src/hooks.ts';
import { startMaintenance } from '../../packages/sender/src/pipeline/maintenance.ts';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { hang, scriptedEndpoint, type ReplyFunction } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };
const quick = { minPollMs: 5, maxPollMs: 20 };

/** Holds every reply until it is let go. */
function gate(): { reply: ReplyFunction; letGo: () => void } {
  let letGo: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (letGo = resolve));
  return {
    letGo: () => letGo(),
    reply: async (_request, response) => {
      await open;
      response.end('success');
    },
  };
}

describe.each(databases)('a worker on $name', ({ open }) => {
  const opened = async (url: string, count: number) => {
    const outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url, maxInFlight: 1000 });
    await outbox.sender.notifyMany(Array.from({ length: count }, (_, n) => ({ ...event, bizId: `PAY${n}` })));
    return outbox;
  };

  test('that is stopped waits for the answer of what is in flight, and settles it (R152)', async () => {
    const { reply, letGo } = gate();
    await using endpoint = await scriptedEndpoint(reply);
    await using outbox = await opened(endpoint.url, 1);
    const worker = outbox.sender.startWorker(quick);
    await endpoint.received(1);

    const stopped = worker.stop({ graceMs: Number.POSITIVE_INFINITY }); // R131: no timer is that long
    letGo();

    expect(await stopped).toMatchObject({ claimed: 1, delivered: 1, lost: 0 });
    expect((await outbox.sender.operations.list()).items).toMatchObject([{ state: 'delivered', attempts: 1 }]);
  });

  test('that is stopped gives back what outlasts the grace: due now, uncharged, and sent by the next one (R152)', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await opened(endpoint.url, 1);
    const worker = outbox.sender.startWorker(quick);
    await endpoint.received(1);

    const { claimed, returned, ...others } = await worker.stop({ graceMs: 20 });
    expect(others).toMatchObject({ delivered: 0, retrying: 1, dead: 0, lost: 0 });
    expect(claimed - returned).toBe(1); // a claim under way meanwhile may have met it again

    const [row] = (await outbox.sender.operations.list()).items;
    expect(row).toMatchObject({ state: 'pending', attempts: 0, lostClaims: 0, isClaimed: false });
    expect(await outbox.dueInMs()).toBeLessThanOrEqual(0);
    const { attemptLog } = await outbox.sender.operations.show(row?.id ?? '');
    expect(attemptLog).toMatchObject([{ ordinal: null, outcome: 'aborted', because: 'stopped' }]);
    endpoint.script(200);
    await outbox.sender.runOnce();
    expect((await outbox.sender.operations.list()).items).toMatchObject([{ state: 'delivered', attempts: 1 }]);
    expect(endpoint.requests).toHaveLength(2);
  });

  test('that is stopped returns the rows it had not started, uncharged and unlogged', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await opened(endpoint.url, 30);
    const worker = outbox.sender.startWorker({ ...quick, concurrency: 2, prefetch: 20 });
    await endpoint.received(2);
    await awaitUntil('rows are claimed ahead', async () => {
      const { items } = await outbox.sender.operations.list();
      return items.filter((item) => item.isClaimed).length > 2;
    });

    const summary = await worker.stop({ graceMs: 20 });

    expect(summary.returned).toBeGreaterThan(0);
    expect(summary.claimed).toBe(summary.returned + 2);
    const { items } = await outbox.sender.operations.list();
    expect(items).toHaveLength(30);
    for (const item of items)
      expect(item).toMatchObject({ state: 'pending', attempts: 0, lostClaims: 0, isClaimed: false });
    const [log] = await outbox.query<{ count: number }>('select count(*)::int from attempt');
    expect(log?.count).toBe(2);
    expect(endpoint.requests).toHaveLength(2);
    endpoint.script(200);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 30, delivered: 30 });
  });

  test('may be told to stop twice: the shorter grace counts', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await opened(endpoint.url, 1);
    const worker = outbox.sender.startWorker(quick);
    await endpoint.received(1);
    const startedAtMs = performance.now();

    const first = worker.stop({ graceMs: 600_000 });
    const second = worker.stop({ graceMs: 1 });

    expect(await first).toEqual(await second);
    expect(performance.now() - startedAtMs).toBeLessThan(8_000); // well under the deadline of the request
    expect(await worker.stop()).toMatchObject({ retrying: 1 }); // and again, after it has stopped
  });

  test('claims nothing more once it is stopped', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url, 0);
    const worker = outbox.sender.startWorker(quick);
    await worker.stop();

    await outbox.sender.notify(event);
    worker.nudge();

    expect(worker.inFlight).toBe(0);
    expect((await outbox.sender.operations.list()).items).toMatchObject([{ state: 'pending', isClaimed: false }]);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1 });
  });

  test('is stopped with its sender', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url, 3);
    const second = outbox.another();
    second.startWorker(quick);
    await endpoint.received(3);

    await second.close();

    const { items } = await outbox.sender.operations.list();
    expect(items.map((item) => item.state)).toEqual(['delivered', 'delivered', 'delivered']);
  });

  test('a pass that is aborted gives back what it holds', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await opened(endpoint.url, 10);
    const controller = new AbortController();
    const pass = outbox.sender.runOnce({ concurrency: 2, prefetch: 4, signal: controller.signal });
    await endpoint.received(2);

    controller.abort();

    expect(await pass).toMatchObject({ delivered: 0, dead: 0, lost: 0 });
    const { items } = await outbox.sender.operations.list();
    expect(items).toHaveLength(10);
    for (const item of items) expect(item).toMatchObject({ state: 'pending', attempts: 0, isClaimed: false });
    expect(await outbox.sender.runOnce({ signal: controller.signal })).toMatchObject({ claimed: 0 });
  });
});

test('upkeep that is stopped while it works does not sleep once more before it ends', async () => {
  await using outbox = await freshOutbox(databases[0]!.open);
  const database = openDatabase(outbox.database, {});
  let letGo: () => void = () => undefined;
  let stopUpkeep: () => Promise<void> = () => Promise.resolve();
  const gone = new Promise<void>((resolve) => (letGo = resolve));
  const asked = new Promise<void>((resolve) => {
    const rolls = [-0.5]; // no first rest, and a long one after it
    stopUpkeep = startMaintenance({
      ...{ schema: outbox.schema, source: 'acme-pay', hooks: createHooks(), defaultPolicy: 'alipay', retention: false },
      random: () => rolls.shift() ?? 1,
      database: {
        ...database,
        query: async (text, parameters) => {
          resolve();
          await gone;
          return database.query(text, parameters);
        },
      },
    });
  });
  await asked;

  const stopped = stopUpkeep();
  letGo();

  await stopped;
  await database.close();
});
