import { randomBytes } from 'node:crypto';
import { createSender } from '@bestnotify/sender';
import { drizzle } from 'drizzle-orm/node-postgres';
import { Pool } from 'pg';
import { expect, test } from 'vitest';
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
