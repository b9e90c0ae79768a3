import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSender } from '@bestnotify/sender';
import { drizzle } from 'drizzle-orm/node-postgres';
import { Pool } from 'pg';
import { expect, test, vi } from 'vitest';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };
const open = () => databases[0]?.open() ?? expect.fail();

async function deliverSome(
  { sender, putEndpoint }: Pick<Outbox, 'sender' | 'putEndpoint'>,
  url: string,
): Promise<void> {
  await putEndpoint({ id: 'merchant-42', url });
  await sender.notifyMany(Array.from({ length: 20 }, (_, n) => ({ ...event, bizId: `PAY${n}` })));
  await sender.notify({ ...event, bizId: 'PAY1' });
  expect(await sender.runOnce({ concurrency: 4 })).toMatchObject({ delivered: 20 });
}

test('without prepared statements, as behind a pooler, everything works and no session keeps anything (R167)', async () => {
  await using endpoint = await scriptedEndpoint(200);
  const name = `pooled-${randomBytes(4).toString('hex')}`;
  const url = new URL(requiredEnv('DATABASE_URL'));
  url.searchParams.set('application_name', name);
  await using outbox = await freshOutbox(open, { database: url.href, postgres: { prepare: false, maxConnections: 3 } });

  await deliverSome(outbox, endpoint.url);

  const sessions = await outbox.query(`select pid from pg_stat_activity where application_name = '${name}'`);
  expect(sessions.length).toBeGreaterThan(0);
  const locks = await outbox.query(
    `select 1 from pg_locks join pg_stat_activity using (pid) where application_name = '${name}' and locktype = 'advisory'`,
  );
  expect(locks).toEqual([]);
});

test.each([
  {
    prepare: undefined,
    what: 'on a direct connection statements are prepared, without being asked for',
    areThere: true,
  },
  { prepare: false, what: 'unless that is switched off', areThere: false },
])('$what', async ({ prepare, areThere }) => {
  const database = openDatabase(requiredEnv('DATABASE_URL'), {
    maxConnections: 1,
    ...(prepare !== undefined && { prepare }),
  });
  try {
    await database.query('select $1::int4 + 4711 as sum', [1]);
    const seen = await database.query(
      `select 1 as one from pg_prepared_statements where statement like '%+ 4711%'`,
      [],
    );
    expect(seen).toHaveLength(areThere ? 1 : 0);
  } finally {
    await database.close();
  }
});

test('over a drizzle database that the platform opened with node-postgres everything works, and it stays open', async () => {
  await using endpoint = await scriptedEndpoint(200);
  const pool = new Pool({ connectionString: requiredEnv('DATABASE_URL'), max: 3 });
  {
    await using outbox = await freshOutbox(open, { database: drizzle(pool) });
    await deliverSome(outbox, endpoint.url);
    await outbox.sender.operations.holdEndpoint('merchant-42');
    expect((await outbox.sender.operations.list({ state: 'delivered' })).items).toHaveLength(20);
    await outbox.sender.close();
    await expect(outbox.sender.notify(event)).rejects.toMatchObject({ code: 'SENDER_CLOSED' });
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  }
  await pool.end();
});

test('a sender that is closed before it ever connected does not connect any more', async () => {
  const sender = createSender({ source: 'acme-pay', database: requiredEnv('DATABASE_URL') });
  await sender.close();
  await sender.close();
  await expect(sender.notify(event)).rejects.toMatchObject({ code: 'SENDER_CLOSED' });
  expect(() => sender.startWorker()).toThrow('This sender is closed');
});

test('a delivery updates its row twice, once without touching an index, and its body never, so that little is left for the vacuum (R169)', async () => {
  await using endpoint = await scriptedEndpoint(200);
  await using outbox = await freshOutbox(open);
  await deliverSome(outbox, endpoint.url);
  await outbox.sender.close(); // a session hands its counters in when it ends, or once in a while

  const counts = await awaitUntil('the counters are written', async () => {
    const rows = await outbox.query<{ name: string; inserted: number; updated: number; hot: number; deleted: number }>(
      `select relname as name, n_tup_ins::int as inserted, n_tup_upd::int as updated, n_tup_hot_upd::int as hot, n_tup_del::int as deleted
         from pg_stat_user_tables where schemaname = '${outbox.schema}' and relname in ('outbox', 'notification', 'notification_key', 'attempt')
        order by relname`,
    );
    return rows.some((row) => row.name === 'outbox' && row.updated >= 40) && rows;
  });

  expect(counts).toEqual([
    { name: 'attempt', inserted: 20, updated: 0, hot: 0, deleted: 0 },
    { name: 'notification', inserted: 20, updated: 0, hot: 0, deleted: 0 },
    { name: 'notification_key', inserted: 20, updated: 0, hot: 0, deleted: 0 },
    { name: 'outbox', inserted: 20, updated: 40, hot: 20, deleted: 0 },
  ]);
});

/** A database over the tests' server, with sessions of a name of their own. */
function openNamed(options: { maxConnections: number; queryTimeoutMs?: number }) {
  const name = `sessions-${randomBytes(4).toString('hex')}`;
  const url = new URL(requiredEnv('DATABASE_URL'));
  url.searchParams.set('application_name', name);
  const database = openDatabase(url.href, { prepare: true, ...options });
  const pidOf = async (queryable: Pick<typeof database, 'query'>) =>
    (await queryable.query('select pg_backend_pid() as pid', []))[0]?.['pid'] as number;
  return { name, database, pidOf, [Symbol.asyncDispose]: () => database.close() };
}

test('a transaction in which a statement failed is not committed, even if its work went on as if nothing were', async () => {
  await using outbox = await freshOutbox(open);
  await using opened = openNamed({ maxConnections: 1 });
  const table = `${outbox.schema}.taken`;
  await outbox.query(`create table ${table} (n int)`);

  const swallowed = opened.database.transaction(async (tx) => {
    await tx.query(`insert into ${table} values (1)`, []);
    await tx.query('select 1 / 0', []).catch(() => undefined);
  });

  await expect(swallowed).rejects.toMatchObject({ code: '22012' });
  expect(await outbox.query(`select n from ${table}`)).toEqual([]);
  expect(await opened.database.query('select 1 as one', [])).toEqual([{ one: 1 }]); // the session is as good as before
});

test('a transaction whose connection ends between two statements fails at once, and none of its statements runs anywhere else', async () => {
  await using outbox = await freshOutbox(open);
  await using opened = openNamed({ maxConnections: 1 });
  const table = `${outbox.schema}.taken`;
  await outbox.query(`create table ${table} (n int)`);
  let later: Promise<unknown> | undefined;

  const interrupted = opened.database.transaction(async (tx) => {
    await tx.query(`insert into ${table} values (1)`, []);
    await outbox.query(`select pg_terminate_backend(${await opened.pidOf(tx)})`);
    await sleep(200);
    later = tx.query(`insert into ${table} values (2)`, []);
    await later;
  });

  await expect(interrupted).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await awaitUntil('its work has gone on', () => later !== undefined);
  await expect(later).rejects.toThrow('This transaction is over');
  await opened.database.query(`insert into ${table} values (3)`, []);
  expect(await outbox.query(`select n from ${table}`)).toEqual([{ n: 3 }]);
});

test('who finds no connection free in time is told so, and its statement never runs', async () => {
  await using outbox = await freshOutbox(open);
  await using opened = openNamed({ maxConnections: 1, queryTimeoutMs: 300 });
  const table = `${outbox.schema}.taken`;
  await outbox.query(`create table ${table} (n int)`);

  await opened.database.transaction(async () => {
    const waiting = opened.database.query(`insert into ${table} values (1)`, []);
    await expect(waiting).rejects.toMatchObject({ code: 'SENDER_DATABASE_TIMEOUT', isBegun: false });
  });

  await opened.database.query(`insert into ${table} values (2)`, []);
  expect(await outbox.query(`select n from ${table}`)).toEqual([{ n: 2 }]);
});

test('those who wait for a connection get one in turn, also when the one in use is lost', async () => {
  await using outbox = await freshOutbox(open);
  await using opened = openNamed({ maxConnections: 1 });
  const served: number[] = [];
  const serve = async (n: number) => {
    const pid = await opened.pidOf(opened.database);
    served.push(n);
    return pid;
  };

  const lost = opened.database.transaction(async (tx) => {
    const pid = await opened.pidOf(tx);
    const waiting = [serve(1), serve(2), serve(3)];
    await outbox.query(`select pg_terminate_backend(${pid})`);
    const pids = await Promise.all(waiting);
    expect(new Set(pids).size).toBe(1);
    expect(pids).not.toContain(pid);
  });

  await expect(lost).rejects.toMatchObject({ code: 'CONNECTION_CLOSED' });
  await awaitUntil('all are served', () => served.length === 3);
  expect(served).toEqual([1, 2, 3]);
});

test('a connection is used again, and replaced when it has grown old', async () => {
  await using opened = openNamed({ maxConnections: 3 });
  const young = await opened.pidOf(opened.database);
  expect(await opened.pidOf(opened.database)).toBe(young);

  const clock = vi.spyOn(performance, 'now').mockImplementation(() => 1e9);
  try {
    expect(await opened.pidOf(opened.database)).toBe(young); // its last statement
    expect(await opened.pidOf(opened.database)).not.toBe(young);
  } finally {
    clock.mockRestore();
  }
});

test('a database that is closed lets what is under way end, and ends all its sessions', async () => {
  await using outbox = await freshOutbox(open);
  const { name, database } = openNamed({ maxConnections: 3 });
  await Promise.all([database.query('select 1 as one', []), database.query('select 1 as one', [])]);
  const underWay = database.query('select pg_sleep(0.3)::text as slept', []);

  await database.close();

  expect(await underWay).toEqual([{ slept: '' }]);
  await awaitUntil('no session is left', async () => {
    const rows = await outbox.query(`select 1 from pg_stat_activity where application_name = '${name}'`);
    return rows.length === 0;
  });
});
