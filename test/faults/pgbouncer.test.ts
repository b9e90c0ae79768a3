import { generateSecret } from '@bestnotify/sender';
import { drizzle } from 'drizzle-orm/postgres-js';
import { tmpdir } from 'node:os';
import postgres from 'postgres';
import { afterAll, expect, test, type TestContext } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { startPgBouncer } from '../scripts/services/pgbouncer.mjs';
import { freshOutbox, paid, type Outbox } from '../sender/fresh-outbox.ts';

const serverConnections = 3;
const started = startPgBouncer({
  databaseUrl: requiredEnv('DATABASE_URL'),
  scratchDir: tmpdir(),
  serverConnections,
  progress: (line) => console.log(line),
});
afterAll(async () => {
  const bouncer = await started;
  if ('stop' in bouncer) await bouncer.stop();
}, 20_000);

/** Its URL; where PgBouncer cannot be had the test is skipped, and says why. */
async function pooledUrl({ skip }: TestContext): Promise<string> {
  const bouncer = await started;
  return 'url' in bouncer ? bouncer.url : skip(bouncer.reason);
}

const open = () => databases[0]?.open() ?? expect.fail();
const deliveredCount = async ({ query }: Outbox) =>
  (await query<{ count: number }>('select count(*)::int as count from outbox where state = 1'))[0]?.count;

/** What is left in the server connections that everybody shares, after the transactions that ran on them. */
async function leftInSessions(url: string): Promise<unknown[]> {
  const sql = postgres(url, { max: serverConnections, prepare: false, fetch_types: false, onnotice: () => undefined });
  try {
    // As many transactions at once as there are connections: each is on one of its own.
    const looks = Array.from({ length: serverConnections }, () =>
      sql.begin(async (tx) => {
        const [pid] = await tx.unsafe('select pg_backend_pid() as pid, pg_sleep(0.3)');
        const left = await tx.unsafe(`
          select 'prepared ' || statement as what from pg_prepared_statements
          union all select 'listens to ' || c from pg_listening_channels() c
          union all select 'holds ' || locktype || ' ' || objid from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
          union all select 'has table ' || relname from pg_class where relpersistence = 't' and pg_table_is_visible(oid)
          union all select 'has set ' || name || ' to ' || setting from pg_settings where source = 'session'
             and name not in ('application_name', 'client_encoding', 'DateStyle', 'TimeZone', 'standard_conforming_strings')`);
        return { pid: (pid as { pid: number } | undefined)?.pid, left: [...left] };
      }),
    );
    const found = await Promise.all(looks);
    expect(new Set(found.map(({ pid }) => pid)).size).toBe(serverConnections);
    return found.flatMap(({ left }) => left);
  } finally {
    await sql.end();
  }
}

test(
  'through PgBouncer in transaction mode three workers share three server connections: all is delivered once, and no session keeps anything (R167)',
  { timeout: 120_000 },
  async (context) => {
    const url = await pooledUrl(context);
    const sent = new Map<string, number>();
    await using endpoint = await scriptedEndpoint((request, response) => {
      const { bizId } = JSON.parse(request.body.toString()) as { bizId: string };
      sent.set(bizId, (sent.get(bizId) ?? 0) + 1);
      response.end('success');
    });
    await using outbox = await freshOutbox(open);
    const pooled = outbox.another({ database: url, schema: `${outbox.schema}_p`, postgres: { prepare: false } });
    try {
      // Two deploys at once migrate, each step under its advisory lock: of a transaction, never of a session.
      const other = outbox.another({ database: url, schema: `${outbox.schema}_p`, postgres: { prepare: false } });
      const applied = await Promise.all([pooled.migrate(), other.migrate()]);
      expect(applied.flat().sort()).toEqual([...new Set(applied.flat())].sort());
    } finally {
      await outbox.query(`drop schema ${outbox.schema}_p cascade`);
    }

    const sender = outbox.another({ database: url, postgres: { prepare: false } });
    for (let n = 0; n < 5; n += 1) {
      await sender.endpoints.put({
        ...{ id: `m${n}`, url: endpoint.url, secrets: [generateSecret()], allowHttp: true, allowPrivateNetwork: true },
        ...(n === 0 && { maxInFlightEverywhere: 3 }), // claimed under a lock on its health
      });
    }
    const client = postgres(url, { max: 4, prepare: false, onnotice: () => undefined });
    const db = drizzle(client);
    const count = 500;
    try {
      // In transactions of the platform's own, through the same pooler; one in five is rolled back.
      await Promise.all(
        Array.from({ length: 25 }, async (_, batch) => {
          const events = Array.from({ length: 25 }, (_event, n) => ({
            ...{ endpoint: `m${n % 5}`, ...paid, bizId: `PAY${batch * 25 + n}` },
          }));
          const work = db.transaction(async (tx) => {
            await sender.notifyMany(events, { tx });
            if (batch % 5 === 4) throw new Error('rolled back');
          });
          await work.catch((error: unknown) => expect(String(error)).toContain('rolled back'));
        }),
      );
    } finally {
      await client.end();
    }

    const workers = [0, 1, 2].map(() =>
      startChild('worker.mjs', {
        args: [JSON.stringify({ schema: outbox.schema, database: url, postgres: { prepare: false } })],
      }),
    );
    await awaitUntil('everything is delivered', async () => (await deliveredCount(outbox)) === count, {
      timeoutMs: 60_000,
      everyMs: 50,
    });
    for (const worker of workers) worker.write('stop');
    for (const worker of workers) {
      expect(JSON.parse((await worker.line(/^stopped/)).slice('stopped '.length))).toMatchObject({ lost: 0 });
      expect(worker.lines.filter((line) => line.startsWith('error'))).toEqual([]);
    }

    expect(sent.size).toBe(count);
    expect(new Set(sent.values())).toEqual(new Set([1]));
    expect(await leftInSessions(url)).toEqual([]);
  },
);

test('whoever does not say that there is a pooler loses nothing by it: it is noticed, and nothing is prepared (R167)', async (context) => {
  const url = await pooledUrl(context);
  await using endpoint = await scriptedEndpoint(200);
  await using outbox = await freshOutbox(open);
  // A limit over all workers: claims are transactions of several statements.
  await outbox.putEndpoint({ id: 'm', url: endpoint.url, maxInFlightEverywhere: 20 });
  const count = 300;
  await outbox.sender.notifyMany(
    Array.from({ length: count }, (_, n) => ({ endpoint: 'm', ...paid, bizId: `PAY${n}` })),
  );

  const workers = [0, 1].map(() =>
    startChild('worker.mjs', { args: [JSON.stringify({ schema: outbox.schema, database: url })] }),
  );
  await awaitUntil('everything is delivered', async () => (await deliveredCount(outbox)) === count, {
    timeoutMs: 20_000,
  });
  for (const worker of workers) {
    worker.write('stop');
    expect(JSON.parse((await worker.line(/^stopped/)).slice('stopped '.length))).toMatchObject({ lost: 0 });
    expect(worker.lines.filter((line) => line.startsWith('error'))).toEqual([]);
    await worker.ended;
  }
  expect(await leftInSessions(url)).toEqual([]);
});
