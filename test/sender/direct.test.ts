import {
  ConfigurationError,
  DatabaseTimeoutError,
  generateSecret,
  SecretInUseError,
  SecretMismatchError,
  type CallerTransaction,
} from '@bestnotify/sender';
import { drizzle as drizzleNodePostgres } from 'drizzle-orm/node-postgres';
import { drizzle } from 'drizzle-orm/postgres-js';
import { Pool } from 'pg';
import postgres from 'postgres';
import { describe, expect, test } from 'vitest';
import { callers } from './callers.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const url = 'https://merchant.example/notify/ORDER7';

describe.each(databases)('an endpoint named in the call, on $name', ({ open }) => {
  test("is created when missing, with the sender's defaults; the url belongs to the notification", async () => {
    await using outbox = await freshOutbox(open, { endpointDefaults: { policy: 'article', maxInFlight: 3 } });
    const { sender } = outbox;

    const { id } = await sender.notify({ to: 'merchant-7', url, secret: generateSecret(), ...paid });

    expect(await sender.endpoints.get('merchant-7')).toMatchObject({ url: null, policy: 'article', maxInFlight: 3 });
    expect(await sender.operations.show(id)).toMatchObject({ endpoint: 'merchant-7', url });
  });

  test('is used when it exists with that secret, and keeps its settings', async () => {
    await using outbox = await freshOutbox(open);
    const { sender } = outbox;
    const secrets = [generateSecret(), generateSecret()];
    const stored = await outbox.sender.endpoints.put({
      id: 'merchant-7',
      url: 'https://merchant.example/',
      secrets,
      ack: 'status',
    });

    for (const [n, secret] of secrets.entries()) {
      expect(await sender.notify({ to: 'merchant-7', url, secret, ...paid, bizId: `PAY${n}` })).toMatchObject({
        created: true,
      });
    }

    expect(await sender.endpoints.get('merchant-7')).toEqual(stored);
  });

  test('with another secret than the stored one is refused, and nothing is written', async () => {
    await using outbox = await freshOutbox(open);
    const { sender } = outbox;
    await sender.notify({ to: 'merchant-7', url, secret: generateSecret(), ...paid });

    const mismatch = sender.notify({ to: 'merchant-7', url, secret: generateSecret(), ...paid, bizId: 'PAY2' });

    await expect(mismatch).rejects.toBeInstanceOf(SecretMismatchError);
    await expect(mismatch).rejects.toMatchObject({ code: 'SENDER_SECRET_MISMATCH', endpoint: 'merchant-7' });
    expect((await sender.operations.list()).items).toHaveLength(1);
  });

  test('with a secret that is live on another endpoint is refused, and not created', async () => {
    await using outbox = await freshOutbox(open);
    const { sender } = outbox;
    const secret = generateSecret();
    await sender.endpoints.put({ id: 'merchant-6', url, secrets: [secret] });

    await expect(sender.notify({ to: 'merchant-7', url, secret, ...paid })).rejects.toBeInstanceOf(SecretInUseError);
    expect(await sender.endpoints.get('merchant-7')).toBeUndefined();
    expect((await sender.operations.list()).items).toEqual([]);
  });

  test('with two secrets in one call is refused', async () => {
    await using outbox = await freshOutbox(open);
    const direct = () => ({ to: 'merchant-7', url, secret: generateSecret(), ...paid });

    await expect(outbox.sender.notifyMany([direct(), { ...direct(), bizId: 'PAY2' }])).rejects.toBeInstanceOf(
      ConfigurationError,
    );
  });

  test('with a secret that is none is refused without repeating it', async () => {
    await using outbox = await freshOutbox(open);
    const secret = 'v1,whsec_MarkerMarkerMarkerMarker'; // as pasted from another field (R037)

    const refused = outbox.sender.notify({ to: 'merchant-7', url, secret, ...paid });

    await expect(refused).rejects.toThrow();
    await expect(refused).rejects.not.toThrow('Marker');
  });
});

describe.each(callers)("an endpoint named in a transaction of the caller's, through $name", ({ name, open, begin }) => {
  test('is there for the notification; after a rollback it stays where the sender has a connection of its own', async () => {
    await using outbox = await freshOutbox(open);
    const { sender } = outbox;
    const direct = (to: string) => ({ to, url, secret: generateSecret(), ...paid });

    const { id } = await begin((tx) => sender.notify(direct('merchant-7'), { tx }));
    const rolledBack = begin(async (tx) => {
      await sender.notify(direct('merchant-8'), { tx });
      throw new Error('rolled back');
    });

    await expect(rolledBack).rejects.toThrow('rolled back');
    expect((await sender.operations.list()).items.map((item) => item.id)).toEqual([id]);
    const ids = (await sender.endpoints.list()).map((endpoint) => endpoint.id);
    expect(ids).toEqual(name.endsWith('PGlite') ? ['merchant-7'] : ['merchant-7', 'merchant-8']);
  });
});

/** The platform's own pool, which the sender uses too: it holds one connection, and the caller's transaction has it. */
const pools = [
  {
    name: 'postgres.js',
    open: () => {
      const client = postgres(requiredEnv('DATABASE_URL'), { max: 1, onnotice: () => undefined });
      return { db: drizzle(client), end: () => client.end() };
    },
  },
  {
    name: 'node-postgres',
    open: () => {
      const pool = new Pool({ connectionString: requiredEnv('DATABASE_URL'), max: 1 });
      return { db: drizzleNodePostgres(pool), end: () => pool.end() };
    },
  },
];

describe.each(pools)(
  'an endpoint named in a transaction that has the only connection, drizzle over $name',
  ({ open }) => {
    test('is found there when it exists; a missing one is refused in time, and the transaction goes on', async () => {
      await using outbox = await freshOutbox(databases[0]?.open ?? expect.fail());
      const { db, end } = open();
      try {
        const sender = outbox.another({ database: db, postgres: { queryTimeoutMs: 500 } });
        const known = { to: 'merchant-7', url, secret: generateSecret(), ...paid };
        await sender.notify(known); // on its own: nobody has the connection

        const { id, missing, mismatch } = await db.transaction(async (tx: CallerTransaction) => ({
          id: (await sender.notify({ ...known, bizId: 'PAY2' }, { tx })).id,
          missing: await sender.notify({ ...known, to: 'merchant-8' }, { tx }).catch((error: unknown) => error),
          mismatch: await sender
            .notify({ ...known, secret: generateSecret() }, { tx })
            .catch((error: unknown) => error),
        }));

        expect(missing).toBeInstanceOf(DatabaseTimeoutError);
        expect(missing).toMatchObject({ code: 'SENDER_DATABASE_TIMEOUT', isBegun: false });
        expect(String(missing)).toContain('nothing was written');
        expect(mismatch).toBeInstanceOf(SecretMismatchError);
        expect(await sender.operations.show(id)).toMatchObject({ state: 'pending', bizId: 'PAY2' });
        // What waited for the connection does not happen behind the back of a caller who was told that it has not.
        expect((await sender.endpoints.list()).map((endpoint) => endpoint.id)).toEqual(['merchant-7']);
      } finally {
        await end();
      }
    });
  },
);
