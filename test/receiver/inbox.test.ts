import type { PGlite } from '@electric-sql/pglite';
import { postgresInbox, type HandlerContext, type PostgresInbox } from '@bestnotify/receiver';
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { sql as statement } from 'drizzle-orm';
import { Pool } from 'pg';
import postgres from 'postgres';
import { describe, expect, test } from 'vitest';
import { sharedPglite } from '../fixtures/pglite.ts';
import { freshSchema, newSchemaName } from '../fixtures/postgres.ts';
import { again, requestFor } from '../contract/stores.ts';
import { gate, line, receiverFor, senderTo } from './merchant.ts';

const event = { type: 'payment.success', bizId: 'PAY1' };

/** A client of the merchant's, with the two things a test does through it. */
interface Client extends AsyncDisposable {
  inbox: PostgresInbox;
  /** Makes the effect and records it in one transaction. */
  effect(bizId: string, ctx: HandlerContext, options?: { isRolledBack?: boolean }): Promise<void>;
  effects(): Promise<number>;
}

const clients: { name: string; open: () => Promise<Client> }[] = [
  { name: 'pg', open: () => openPg() },
  { name: 'postgres.js', open: openPostgresJs },
  { name: 'drizzle over pg', open: openDrizzle },
  { name: 'drizzle over postgres.js', open: openDrizzlePostgresJs },
  { name: 'PGlite', open: openPglite },
  { name: 'drizzle over PGlite', open: openDrizzlePglite },
];

class RolledBack extends Error {}

async function openPg(): Promise<Client> {
  const schema = await freshSchema();
  await schema.query('create table effect (biz_id text not null)');
  const pool = new Pool({ connectionString: schema.url, max: 4 });
  return {
    inbox: postgresInbox({ database: pool, schema: schema.schema }),
    async effect(bizId, ctx, { isRolledBack = false } = {}) {
      const tx = await pool.connect();
      try {
        await tx.query('begin');
        await tx.query(`insert into ${schema.schema}.effect values ($1)`, [bizId]);
        await ctx.inbox(tx);
        await tx.query(isRolledBack ? 'rollback' : 'commit');
      } catch (error) {
        await tx.query('rollback');
        throw error;
      } finally {
        tx.release();
      }
    },
    effects: async () => (await schema.query('select from effect')).length,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await schema[Symbol.asyncDispose]();
    },
  };
}

async function openPostgresJs(): Promise<Client> {
  const schema = await freshSchema();
  await schema.query('create table effect (biz_id text not null)');
  const sql = postgres(schema.url, { max: 4, onnotice: () => undefined });
  return {
    inbox: postgresInbox({ database: sql, schema: schema.schema }),
    effect: (bizId, ctx, { isRolledBack = false } = {}) =>
      unlessRolledBack(
        sql.begin(async (tx) => {
          await tx`insert into ${tx(schema.schema)}.effect values (${bizId})`;
          await ctx.inbox(tx);
          if (isRolledBack) throw new RolledBack();
        }),
      ),
    effects: async () => (await schema.query('select from effect')).length,
    async [Symbol.asyncDispose]() {
      await sql.end();
      await schema[Symbol.asyncDispose]();
    },
  };
}

async function openDrizzle(): Promise<Client> {
  const schema = await freshSchema();
  await schema.query('create table effect (biz_id text not null)');
  const pool = new Pool({ connectionString: schema.url, max: 4 });
  const db = drizzle(pool);
  return {
    inbox: postgresInbox({ database: db, schema: schema.schema }),
    effect: (bizId, ctx, { isRolledBack = false } = {}) =>
      unlessRolledBack(
        db.transaction(async (tx) => {
          await tx.execute(statement`insert into ${statement.identifier(schema.schema)}.effect values (${bizId})`);
          await ctx.inbox(tx);
          if (isRolledBack) throw new RolledBack();
        }),
      ),
    effects: async () => (await schema.query('select from effect')).length,
    async [Symbol.asyncDispose]() {
      await pool.end();
      await schema[Symbol.asyncDispose]();
    },
  };
}

async function openDrizzlePostgresJs(): Promise<Client> {
  const schema = await freshSchema();
  await schema.query('create table effect (biz_id text not null)');
  const sql = postgres(schema.url, { max: 4, onnotice: () => undefined });
  const db = drizzlePostgresJs(sql);
  return {
    inbox: postgresInbox({ database: db, schema: schema.schema }),
    effect: (bizId, ctx, { isRolledBack = false } = {}) =>
      unlessRolledBack(
        db.transaction(async (tx) => {
          await tx.execute(statement`insert into ${statement.identifier(schema.schema)}.effect values (${bizId})`);
          await ctx.inbox(tx);
          if (isRolledBack) throw new RolledBack();
        }),
      ),
    effects: async () => (await schema.query('select from effect')).length,
    async [Symbol.asyncDispose]() {
      await sql.end();
      await schema[Symbol.asyncDispose]();
    },
  };
}

async function pgliteParts() {
  const pglite: PGlite = await sharedPglite();
  const schema = newSchemaName();
  await pglite.exec(`create schema ${schema}; create table ${schema}.effect (biz_id text not null)`);
  return {
    pglite,
    schema,
    effects: async () => (await pglite.query(`select from ${schema}.effect`)).rows.length,
    async [Symbol.asyncDispose]() {
      await pglite.exec(`drop schema ${schema} cascade`);
    },
  };
}

async function openPglite(): Promise<Client> {
  const parts = await pgliteParts();
  return {
    ...parts,
    inbox: postgresInbox({ database: parts.pglite, schema: parts.schema }),
    effect: (bizId, ctx, { isRolledBack = false } = {}) =>
      unlessRolledBack(
        parts.pglite.transaction(async (tx) => {
          await tx.query(`insert into ${parts.schema}.effect values ($1)`, [bizId]);
          await ctx.inbox(tx);
          if (isRolledBack) throw new RolledBack();
        }),
      ),
  };
}

async function openDrizzlePglite(): Promise<Client> {
  const parts = await pgliteParts();
  const db = drizzlePglite(parts.pglite);
  return {
    ...parts,
    inbox: postgresInbox({ database: db, schema: parts.schema }),
    effect: (bizId, ctx, { isRolledBack = false } = {}) =>
      unlessRolledBack(
        db.transaction(async (tx) => {
          await tx.execute(statement`insert into ${statement.identifier(parts.schema)}.effect values (${bizId})`);
          await ctx.inbox(tx);
          if (isRolledBack) throw new RolledBack();
        }),
      ),
  };
}

async function unlessRolledBack(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error;
  }
}

describe.each(clients)('an inbox through $name', ({ open }) => {
  test('effect and record commit together, and a copy is absorbed', async () => {
    await using client = await open();
    await client.inbox.migrate();
    await client.inbox.migrate(); // every process may, at every start
    const receiver = receiverFor({ store: client.inbox, handler: ({ bizId }, ctx) => client.effect(bizId, ctx) });
    const sender = senderTo(receiver);
    expect(line(await sender.once(event))).toBe('200 success handled');
    expect(line(await sender.once(event))).toBe('200 success duplicate');
    expect(line(await sender.once({ ...event, data: 'other' }))).toBe('422 fail payload-conflict');
    expect(await client.effects()).toBe(1);
  });

  test('a handler that resolves without its row is told so, whether it forgot it or rolled it back', async () => {
    await using client = await open();
    await client.inbox.migrate();
    const errors: unknown[] = [];
    let run = 0;
    const receiver = receiverFor({
      store: client.inbox,
      onError: ({ error }) => errors.push(error),
      handler: async ({ bizId }, ctx) => {
        run += 1;
        if (run === 2) await client.effect(bizId, ctx, { isRolledBack: true });
        if (run === 3) await client.effect(bizId, ctx);
      },
    });
    const sender = senderTo(receiver);
    const answers = [await sender.once(event), await sender.once(event), await sender.once(event)];
    expect(answers.map(line)).toEqual(['500 fail handler-error', '500 fail handler-error', '200 success handled']);
    expect(errors).toMatchObject([{ code: 'RECEIVER_INBOX_ROW_MISSING' }, { code: 'RECEIVER_INBOX_ROW_MISSING' }]);
    expect(await client.effects()).toBe(1);
  });
});

describe('what only the inbox promises', () => {
  test('a run that lost its lease and finishes beside its successor rolls back: one effect, both answered success', async () => {
    await using client = await openPg();
    await client.inbox.migrate();
    const first = gate();
    const entered = gate();
    let run = 0;
    const receiver = receiverFor({
      store: { ...client.inbox, ...overtaken(client.inbox) },
      handlerTimeoutMs: 5_000,
      handler: async ({ bizId }, ctx) => {
        if ((run += 1) === 1) {
          entered.open();
          await first.promise;
        }
        await client.effect(bizId, ctx);
      },
    });
    const sender = senderTo(receiver);
    const slow = sender.once(event);
    await entered.promise;
    expect(line(await sender.once(event))).toBe('200 success handled');
    first.open();
    expect(line(await slow)).toBe('200 success duplicate');
    expect(await client.effects()).toBe(1);
  });

  test('when the database goes away after the commit, nobody claims success unseen: 503, and the repeat finds the row', async () => {
    await using client = await openPg();
    await client.inbox.migrate();
    let isAway = true;
    const store = {
      ...overtaken(client.inbox),
      acquire: client.inbox.acquire.bind(client.inbox),
      complete: (...[request, options]: Parameters<PostgresInbox['complete']>) =>
        isAway ? Promise.reject(new Error('away')) : client.inbox.complete(request, options),
    };
    const sender = senderTo(receiverFor({ store, handler: ({ bizId }, ctx) => client.effect(bizId, ctx) }));
    expect(line(await sender.once(event))).toBe('503 fail store-unavailable');
    isAway = false;
    expect(line(await sender.once(event))).toBe('200 success duplicate');
    expect(await client.effects()).toBe(1);
  });

  test('a pool is not a transaction, and a store without an inbox says so', async () => {
    await using client = await openPg();
    await client.inbox.migrate();
    const pool = new Pool({ connectionString: 'postgres://127.0.0.1:1/none' });
    const codes: unknown[] = [];
    const onError = ({ error }: { error: unknown }) => codes.push((error as { code: string }).code);
    for (const store of [client.inbox, undefined]) {
      const receiver = receiverFor({
        ...(store && { store }),
        onError,
        handler: (_notification, ctx) => ctx.inbox(pool),
      });
      expect(line(await senderTo(receiver).once(event))).toBe('500 fail handler-error');
    }
    expect(codes).toEqual(['RECEIVER_INBOX_UNAVAILABLE', 'RECEIVER_INBOX_UNAVAILABLE']);
    await pool.end();
  });

  test('R043 R044: a database whose tables are missing is 503 with its own error, never an invalid signature', async () => {
    await using client = await openPg();
    const errors: unknown[] = [];
    const receiver = receiverFor({
      store: client.inbox,
      onError: ({ error }) => errors.push(String(error)),
      handler: () => undefined,
    });
    expect(line(await senderTo(receiver).once(event))).toBe('503 fail store-unavailable');
    expect(errors[0]).toContain('bestnotify_inbox');
  });

  test('an older state that is overtaken inside its transaction rolls back and is stale', async () => {
    await using client = await openPg();
    await client.inbox.migrate();
    const order = (sequence: number) => ({
      order: { subject: 'O', sequence },
      type: 'order.status',
      bizId: `S${sequence}`,
    });
    const [older, newer] = [requestFor(order(1)), requestFor(order(2))];
    const context = (request: typeof older) =>
      ({
        inbox: async (tx: object) => expect(await client.inbox.recordIn(tx, request)).toBe('recorded'),
      }) as unknown as HandlerContext;
    await client.inbox.acquire(older);
    await client.inbox.release(older);
    await client.inbox.acquire(newer);
    await client.effect('S2', context(newer));
    await client.inbox.complete(newer);
    await expect(client.effect('S1', context(older))).rejects.toThrow(/stale/);
    expect(await client.inbox.complete(older)).toBe('missing');
  });

  test('R070: old records are pruned in small batches, by age, and nothing younger goes', async () => {
    await using client = await openPg();
    await client.inbox.migrate();
    const requests = Array.from({ length: 5 }, () => requestFor());
    for (const request of requests) {
      await client.inbox.acquire(request);
      await client.inbox.complete(request, { withoutEffect: true });
    }
    expect(await client.inbox.prune({ olderThanMs: 60_000 })).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await client.inbox.prune({ olderThanMs: 0, limit: 3 })).toBe(3);
    expect(await client.inbox.prune({ olderThanMs: 0, limit: 3 })).toBe(2);
    expect(await client.inbox.acquire(again(requests[0]!))).toMatchObject({ verdict: 'acquired' });
  });

  test('many processes may migrate at once', async () => {
    await using schema = await freshSchema();
    const pools = Array.from({ length: 4 }, () => new Pool({ connectionString: schema.url, max: 1 }));
    await Promise.all(pools.map((database) => postgresInbox({ database, schema: schema.schema }).migrate()));
    await Promise.all(pools.map((pool) => pool.end()));
  });
});

/** An inbox whose second claim is let in beside the first, as after a lost lease. */
function overtaken(inbox: PostgresInbox) {
  let claims = 0;
  return {
    kind: inbox.kind,
    acquire: (request: Parameters<PostgresInbox['acquire']>[0]) =>
      (claims += 1) === 1
        ? inbox.acquire(request)
        : Promise.resolve({ verdict: 'acquired' as const, attempt: 2, fence: 2 }),
    renew: () => Promise.resolve(true),
    complete: inbox.complete.bind(inbox),
    release: inbox.release.bind(inbox),
    forget: inbox.forget.bind(inbox),
    recordIn: inbox.recordIn.bind(inbox),
  };
}
