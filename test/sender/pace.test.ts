import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { hang, scriptedEndpoint, type RecordedRequest } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';
import { callers } from './callers.ts';

const event = { endpoint: 'merchant-42', ...paid };

const seed = (outbox: Outbox, endpoint: string, count: number) =>
  outbox.sender.notifyMany(
    Array.from({ length: count }, (_, n) => ({ ...event, endpoint, bizId: `${endpoint}-${n}` })),
  );

describe.each(databases)('a resident worker on $name', ({ open }) => {
  test('sends what was enqueued in this process at once, not at its next poll', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const worker = outbox.sender.startWorker({ minPollMs: 60_000, maxPollMs: 60_000 });
    await pause(300); // it finds nothing, and falls asleep

    await outbox.sender.notify(event);

    await endpoint.received(1);

    await worker.stop();
  });

  test('sends what an operator makes due at once, too', async () => {
    await using endpoint = await scriptedEndpoint(500, 200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const { id } = await outbox.sender.notify(event);
    await outbox.sender.runOnce();
    const worker = outbox.sender.startWorker({ minPollMs: 60_000, maxPollMs: 60_000 });

    await outbox.sender.operations.sendNow(id);
    await endpoint.received(2);
    await awaitUntil('it is settled', async () => (await outbox.sender.operations.show(id)).state === 'delivered');
    await outbox.sender.operations.resend(id);
    await endpoint.received(3);

    await worker.stop();
  });

  test('finds by polling what nobody told it of', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const worker = outbox.sender.startWorker({ minPollMs: 5, maxPollMs: 50 });

    await outbox.another().notify(event); // as another process would
    await endpoint.received(1);

    await worker.stop();
  });

  test('one hanging endpoint delays none of the others (R172, R173)', async () => {
    await using hanging = await scriptedEndpoint(hang);
    await using healthy = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'hanging', url: hanging.url });
    for (const id of ['a', 'b', 'c', 'd']) await outbox.putEndpoint({ id, url: healthy.url });
    await seed(outbox, 'hanging', 500);
    const worker = outbox.sender.startWorker({ minPollMs: 5, concurrency: 16 });
    await hanging.received(2); // its whole share is stuck now

    const startedAtMs = performance.now();
    for (const id of ['a', 'b', 'c', 'd']) await seed(outbox, id, 10);
    await healthy.received(40);

    expect(performance.now() - startedAtMs).toBeLessThan(8_000); // no request of the hanging one has even timed out
    expect(hanging.mostInFlight).toBe(2);
    await worker.stop({ graceMs: 1 });
  });

  test('a slow member of a batch holds up no slot but its own, and no row is sent twice (R175)', async () => {
    const seen: string[] = [];
    const bizIdOf = ({ body }: RecordedRequest) => (JSON.parse(body.toString()) as { bizId: string }).bizId;
    await using endpoint = await scriptedEndpoint((request, response) => {
      seen.push(bizIdOf(request));
      if (bizIdOf(request) !== 'merchant-42-0') response.end('success');
    });
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, maxInFlight: 10 });
    await seed(outbox, 'merchant-42', 50);

    const summary = await outbox.sender.runOnce({
      concurrency: 10,
      prefetch: 10,
      requestTimeoutMs: 2_000,
      leaseMs: 4_000,
    });

    expect(summary).toMatchObject({ delivered: 49, retrying: 1, lost: 0 });
    expect(new Set(seen).size).toBe(50);
    expect(seen).toHaveLength(50);
  });

  test('never holds more rows than its slots and its prefetch', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, maxInFlight: 1000 });
    await seed(outbox, 'merchant-42', 60);
    const worker = outbox.sender.startWorker({ minPollMs: 1, maxPollMs: 2, concurrency: 3, prefetch: 5 });
    await endpoint.received(3);

    for (let look = 0; look < 20; look += 1) {
      const [row] = await outbox.query<{ held: number }>('select count(claim_token)::int as held from outbox');
      expect(row?.held).toBeLessThanOrEqual(8);
    }
    expect(worker.inFlight).toBe(3);
    await worker.stop({ graceMs: 1 });
  });

  test('a row that waited too long behind slow ones is returned instead of started near the end of its lease', async () => {
    await using endpoint = await scriptedEndpoint({ delayMs: 700 });
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    await seed(outbox, 'merchant-42', 6);

    const summary = await outbox.sender.runOnce({
      ...{ concurrency: 1, prefetch: 5, maxInFlightPerEndpoint: 6, requestTimeoutMs: 1_000, leaseMs: 2_000 },
    });

    expect(summary).toMatchObject({ delivered: 6, lost: 0 });
    expect(summary.returned).toBeGreaterThan(0);
    expect(endpoint.requests).toHaveLength(6);
  });
});

describe('on PostgreSQL', () => {
  const [first] = callers;

  test('slow endpoints keep no connection of the pool: enqueueing goes on with a pool of one (R155)', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await freshOutbox(first?.open ?? expect.fail(), { postgres: { maxConnections: 1 } });
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, maxInFlight: 50 });
    await seed(outbox, 'merchant-42', 50);
    const worker = outbox.sender.startWorker({ minPollMs: 5, concurrency: 50 });
    await endpoint.received(50);

    const startedAtMs = performance.now();
    for (let n = 0; n < 20; n += 1) await outbox.sender.notify({ ...event, bizId: `LATER${n}` });

    expect(performance.now() - startedAtMs).toBeLessThan(5_000); // the requests hang for 10 s
    const idle = await outbox.query(
      `select 1 from pg_stat_activity where application_name = 'bestnotify' and state like 'idle in transaction%' and query like '%${outbox.schema}%'`,
    );
    expect(idle).toEqual([]);
    await worker.stop({ graceMs: 1 });
  });
});

test('many endpoints behind one host wait for no connection of ours, however slow the host', async () => {
  const count = 70; // more than a pool of 64
  let open = 0;
  let letGo: () => void = () => undefined;
  const allOpen = new Promise<void>((resolve) => (letGo = resolve));
  await using host = await scriptedEndpoint(async (_request, response) => {
    if ((open += 1) === count) letGo();
    await allOpen;
    response.end('success');
  });
  await using outbox = await freshOutbox(databases[0]!.open);
  await outbox.putEndpoint({ id: 'm', url: host.url });
  await seed(outbox, 'm', count);

  const options = { concurrency: count, maxInFlightPerEndpoint: count, requestTimeoutMs: 8_000 };
  expect(await outbox.sender.runOnce(options)).toMatchObject({ delivered: count });
});
