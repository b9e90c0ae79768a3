import { generateSecret, PayloadConflictError, type CallerTransaction, type Enqueued } from '@bestnotify/sender';
import { drizzle as drizzleNodePostgres } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle } from 'drizzle-orm/postgres-js';
import { Client, Pool } from 'pg';
import postgres from 'postgres';
import { describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { sharedPglite } from '../fixtures/pglite.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };
const [postgresql] = databases;

async function opened(): Promise<Outbox> {
  const outbox = await freshOutbox(postgresql?.open ?? expect.fail());
  await outbox.putEndpoint({ id: 'merchant-42' });
  return outbox;
}

/** As many connections of the platform's own as a test needs. */
function connections(max: number): AsyncDisposable & { client: postgres.Sql } {
  const client = postgres(requiredEnv('DATABASE_URL'), { max, onnotice: () => undefined });
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

/** Resolves in all of `count` callers once each has called it. */
function barrier(count: number): () => Promise<void> {
  let open: () => void = () => undefined;
  const opens = new Promise<void>((resolve) => (open = resolve));
  let waiting = 0;
  return () => {
    if (++waiting === count) open();
    return opens;
  };
}

async function isWaitingForLock({ query }: Outbox): Promise<boolean> {
  const rows = await query(
    `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%notification_key%'`,
  );
  return rows.length > 0;
}

describe('notify from several transactions at once', () => {
  test('eight transactions enqueue one event: one creates it, seven find it (R067)', async () => {
    await using outbox = await opened();
    await using eight = connections(8);
    for (let round = 0; round < 5; round += 1) {
      const everyoneHasBegun = barrier(8);
      const enqueueInTransaction = () =>
        eight.client.begin(async (tx) => {
          await tx`select 1`;
          await everyoneHasBegun();
          return outbox.sender.notify({ ...event, bizId: `PAY${round}` }, { tx });
        });

      const results: Enqueued[] = await Promise.all(Array.from({ length: 8 }, enqueueInTransaction));

      expect(results.filter((result) => result.created)).toHaveLength(1);
      expect(new Set(results.map((result) => result.id)).size).toBe(1);
      expect(new Set(results.map((result) => result.state))).toEqual(new Set(['pending']));
    }
    expect((await outbox.sender.operations.list()).items).toHaveLength(5);
  });

  test('of two payloads at once one wins, and the other is told the winner (R067)', async () => {
    await using outbox = await opened();

    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) => outbox.sender.notify({ ...event, data: n })),
    );

    const created = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(created).toHaveLength(1);
    expect(refused).toHaveLength(7);
    for (const error of refused) expect(error).toMatchObject({ code: 'SENDER_PAYLOAD_CONFLICT', id: created[0]?.id });
  });

  test('a caller that waited for a transaction which then rolls back creates the notification itself', async () => {
    await using outbox = await opened();
    await using two = connections(2);
    const second: Promise<Enqueued>[] = [];

    await two.client
      .begin(async (tx) => {
        await outbox.sender.notify({ ...event, data: 'never committed' }, { tx });
        second.push(outbox.sender.notify(event));
        await awaitUntil('the second caller waits', () => isWaitingForLock(outbox));
        throw new Error('rolled back');
      })
      .catch(() => undefined);

    expect(await second[0]).toMatchObject({ created: true });
  });

  test('an event whose key is pruned between our look and our insert is enqueued after all', async () => {
    await using outbox = await opened();
    await outbox.sender.notify(event);
    const client = new Client({ connectionString: requiredEnv('DATABASE_URL') });
    await client.connect();
    let prunes = 1;
    const tx: CallerTransaction = {
      query: async (text: string, values?: unknown[]) => {
        if (text.includes('last_state') && prunes-- > 0) {
          for (const table of ['notification_key', 'notification', 'outbox'])
            await outbox.query(`delete from ${table}`);
        }
        return client.query(text, values);
      },
    };

    await client.query('begin');
    expect(await outbox.sender.notify({ ...event, data: 'other bytes' }, { tx })).toMatchObject({ created: true });
    await client.query('commit');

    await client.end();
    expect((await outbox.sender.operations.list()).items).toHaveLength(1);
  });

  test('opposite orders from two connections do not deadlock', async () => {
    await using outbox = await opened();
    for (let round = 0; round < 5; round += 1) {
      const forward = Array.from({ length: 400 }, (_, n) => ({ ...event, bizId: `R${round}N${n}` }));
      const results = await Promise.all([
        outbox.sender.notifyMany(forward),
        outbox.sender.notifyMany(forward.toReversed()),
        outbox.sender.notifyMany(forward),
      ]);
      expect(results.flat().filter((result) => result.created)).toHaveLength(400);
    }
  });

  test('under repeatable read a concurrent commit is the serialisation failure that the caller retries', async () => {
    await using outbox = await opened();
    await using one = connections(1);
    const inSnapshot = (beforehand: () => Promise<unknown>) =>
      one.client.begin('isolation level repeatable read', async (tx) => {
        await tx`select 1`; // takes the snapshot
        await beforehand();
        return outbox.sender.notify(event, { tx });
      });

    const failed = inSnapshot(() => outbox.sender.notify(event));
    await expect(failed).rejects.toMatchObject({ code: '40001' });
    expect(await inSnapshot(() => Promise.resolve())).toMatchObject({ created: false, state: 'pending' });
  });

  test('drizzle, too, shows the SQLSTATE of a serialisation failure on the error itself', async () => {
    await using outbox = await opened();
    await using one = connections(1);

    const failed = drizzle(one.client).transaction(
      async (tx) => {
        await tx.execute('select 1');
        await outbox.sender.notify(event);
        return outbox.sender.notify(event, { tx });
      },
      { isolationLevel: 'repeatable read' },
    );

    await expect(failed).rejects.toMatchObject({ code: '40001' });
  });

  test('a notification committed late is sent although later ones have been (R146)', async () => {
    await using outbox = await opened();
    await using one = connections(1);
    const late = { ...event, bizId: 'LATE' };

    await one.client.begin(async (tx) => {
      await outbox.sender.notify(late, { tx });
      await outbox.sender.notify({ ...event, bizId: 'LATER' });
      expect((await outbox.sender.runOnce()).claimed).toBe(1);
    });

    expect((await outbox.sender.runOnce()).claimed).toBe(1);
    const { items } = await outbox.sender.operations.list();
    expect(items.map((item) => [item.bizId, item.attempts])).toEqual([
      ['LATER', 1],
      ['LATE', 1],
    ]);
  });

  test('eight callers name an endpoint that does not exist yet: it is created once', async () => {
    await using outbox = await opened();
    const direct = { to: 'merchant-77', url: 'https://merchant.example/notify', secret: generateSecret(), ...paid };

    const results = await Promise.all(
      Array.from({ length: 8 }, (_, n) => outbox.sender.notify({ ...direct, bizId: `PAY${n}` })),
    );

    expect(results.every((result) => result.created)).toBe(true);
    expect((await outbox.sender.endpoints.list()).map((endpoint) => endpoint.id)).toEqual([
      'merchant-42',
      'merchant-77',
    ]);
  });

  test('one secret given to two endpoints at once is stored for one of them', async () => {
    await using outbox = await opened();
    for (let round = 0; round < 5; round += 1) {
      const secrets = [generateSecret()];
      const put = (id: string) => outbox.sender.endpoints.put({ id, url: 'https://merchant.example/', secrets });
      const results = await Promise.allSettled([put(`a${round}`), put(`b${round}`), put(`c${round}`)]);
      expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1);
    }
  });
});

describe("a PGlite of the platform's own", () => {
  test('is refused as a transaction, and so is drizzle over it', async () => {
    await using outbox = await freshOutbox(databases[1]?.open ?? expect.fail());
    await outbox.putEndpoint({ id: 'merchant-42' });
    const pglite = await sharedPglite();

    for (const tx of [pglite, drizzlePglite(pglite)]) {
      const refused = outbox.sender.notify(event, { tx });
      await expect(refused).rejects.toMatchObject({ code: 'SENDER_CONFIGURATION', option: 'tx' });
      await expect(refused).rejects.toThrow('not a transaction');
    }

    expect((await outbox.sender.operations.list()).items).toEqual([]);
  });
});

describe("a postgres.js client of the platform's own", () => {
  test('keeps its parsers and serialisers after its transaction was given to notify', async () => {
    await using outbox = await opened();
    await using one = connections(1);
    const { client } = one;
    await client`select 1`; // the first query fetches the parsers of array types
    const parsersBefore = { ...client.options.parsers };
    const serializersBefore = { ...client.options.serializers };

    await client.begin((tx) => outbox.sender.notify(event, { tx }));

    expect(client.options.parsers).toEqual(parsersBefore);
    expect(client.options.serializers).toEqual(serializersBefore);
    const at = new Date('2026-01-01T00:00:00Z');
    const [row] = await client`select ${at}::timestamptz as at, ${client.json({ a: 1 })}::jsonb as json`;
    expect(row).toEqual({ at, json: { a: 1 } });
  });

  test('is a pool outside of begin, and refused as one, like a pool of pg and drizzle over either', async () => {
    await using outbox = await opened();
    await using one = connections(1);
    const pool = new Pool({ connectionString: requiredEnv('DATABASE_URL'), max: 1 });

    for (const tx of [one.client, pool, drizzle(one.client), drizzleNodePostgres(pool)]) {
      const refused = outbox.sender.notify(event, { tx });
      await expect(refused).rejects.toMatchObject({ code: 'SENDER_CONFIGURATION', option: 'tx' });
    }

    expect((await outbox.sender.operations.list()).items).toEqual([]);
    await pool.end();
  });

  test('is good as a connection that the platform keeps for itself', async () => {
    await using outbox = await opened();
    await using one = connections(1);
    const reserved = await one.client.reserve();
    const single = new Client({ connectionString: requiredEnv('DATABASE_URL') });
    await single.connect();

    await reserved`begin`;
    await outbox.sender.notify(event, { tx: reserved });
    await reserved`rollback`;
    reserved.release();
    await single.query('begin');
    await outbox.sender.notify({ ...event, bizId: 'PAY2' }, { tx: drizzleNodePostgres(single) });
    await single.query('commit');
    await single.end();

    expect((await outbox.sender.operations.list()).items.map((item) => item.bizId)).toEqual(['PAY2']);
  });

  test('may rename the columns of its results', async () => {
    await using outbox = await opened();
    for (const transform of [postgres.camel, postgres.pascal, postgres.kebab]) {
      const client = postgres(requiredEnv('DATABASE_URL'), { max: 1, transform });
      const first = await client.begin((tx) => outbox.sender.notify(event, { tx }));
      await expect(
        client.begin((tx) => outbox.sender.notify({ ...event, data: 'other' }, { tx })),
      ).rejects.toBeInstanceOf(PayloadConflictError);
      expect(first.id).toMatch(/^ntf_/);
      await client.end();
    }
  });
});
