import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import { claimBatch } from '../../packages/sender/src/worker/claim-batch.ts';
import { claimLimited } from '../../packages/sender/src/worker/claim-limited.ts';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const request = (outbox: Outbox) => ({
  ...{ schema: outbox.schema, lane: 1, limit: 50, leaseMs: 30_000, token: randomUUID(), cursor: '0' },
  ...{ defaultMaxInFlight: 50, inFlight: new Map<string, number>(), hasBreaker: true },
});

async function enqueue(outbox: Outbox, count: number): Promise<void> {
  await outbox.sender.notifyMany(
    Array.from({ length: count }, (_, index) => ({ endpoint: 'm', ...paid, bizId: `PAY${index}` })),
  );
}

describe('a limit over all workers on PostgreSQL', () => {
  test('eight claimers at once never hold more than the exact limit', async () => {
    await using outbox = await freshOutbox(databases[0]!.open);
    await outbox.putEndpoint({ id: 'm', maxInFlightEverywhere: 4 });
    await enqueue(outbox, 200);
    const claimers = Array.from({ length: 8 }, () => openDatabase(outbox.database, { maxConnections: 1 }));

    for (let round = 0; round < 20; round += 1) {
      await Promise.all(claimers.map((database) => claimLimited(database, request(outbox))));
      const [live] = await outbox.query<{ count: number }>(
        'select count(*)::int as count from outbox where claim_token is not null and due_at > now()',
      );
      expect(live!.count).toBe(4);
      await outbox.query('update outbox set state = 1, claim_token = null where claim_token is not null');
    }
    await Promise.all(claimers.map((database) => database.close()));
  });
});

describe.each(databases)('shared limits on $name', ({ open }) => {
  test('what was in flight before the endpoint had a limit counts as well', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    await enqueue(outbox, 20);
    const database = openDatabase(outbox.database, {});
    expect((await claimBatch(database, { ...request(outbox), limit: 3 })).notifications).toHaveLength(3);
    await outbox.query('update endpoint set max_in_flight_everywhere = 4');

    expect((await claimLimited(database, request(outbox))).notifications).toHaveLength(1);
    expect((await claimLimited(database, request(outbox))).notifications).toHaveLength(0);
    expect(await outbox.sender.operations.stats()).toMatchObject({ inFlight: 4, due: 16 });
    expect(await outbox.sender.operations.endpointHealth()).toMatchObject({ items: [{ inFlight: 4, due: 16 }] });
    await outbox.age({ byMs: 30_000 });
    expect(await outbox.sender.operations.stats()).toMatchObject({ inFlight: 0, due: 20 });
    await database.close();
  });

  test('a rate lets one second of requests through at once, and then as many as time brings', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm', maxPerSecond: 5 });
    await enqueue(outbox, 20);
    const database = openDatabase(outbox.database, {});
    const claim = async () => (await claimLimited(database, request(outbox))).notifications.length;
    await outbox.query("update endpoint_health set tokens = 0, tokens_at = now() - interval '1 hour'");
    expect(await claim()).toBe(5);
    await outbox.query('update endpoint_health set tokens_at = now()');
    expect(await claim()).toBe(0);
    await outbox.query("update endpoint_health set tokens = 0, tokens_at = now() - interval '410 milliseconds'");
    expect(await claim()).toBe(2);
    await database.close();
  });

  test('a rate holds for a worker without a breaker too, while others have the endpoint parked', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm', maxPerSecond: 5 });
    await enqueue(outbox, 20);
    const database = openDatabase(outbox.database, {});
    const claim = async () =>
      (await claimLimited(database, { ...request(outbox), hasBreaker: false })).notifications.length;
    await outbox.query(
      "update endpoint_health set tokens = 5, tokens_at = now(), parked_until = now() + interval '1 hour'",
    );
    expect(await claim()).toBe(5);
    await outbox.query('update endpoint_health set tokens_at = now()');
    expect(await claim()).toBe(0);
    await database.close();
  });

  test('an endpoint with a shared limit is served beside the rotation', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm', maxInFlightEverywhere: 2 });
    await enqueue(outbox, 3);
    expect(await outbox.sender.runOnce({ limit: 3 })).toMatchObject({ claimed: 3, retrying: 3 });
  });
});
