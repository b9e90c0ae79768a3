import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { scriptedEndpoint, type ScriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from '../sender/fresh-outbox.ts';
import { merchant } from './merchant.ts';
import { proxyTo } from './proxy.ts';

const event = { endpoint: 'merchant-42', ...paid };
const open = () => databases[0]?.open() ?? expect.fail();
const count = 150;
/** A lease short enough to run out within the test. */
const options = { minPollMs: 5, maxPollMs: 50, concurrency: 8, leaseMs: 1_500, requestTimeoutMs: 800 };

/** A merchant that takes its time, and what is enqueued for it. */
async function seeded(outbox: Outbox, endpoint: ScriptedEndpoint) {
  const secret = await outbox.putEndpoint({
    id: 'merchant-42',
    url: endpoint.url,
    maxInFlight: 8,
    policy: { gapsMs: [1_000, 1_000, 1_000, 1_000] },
  });
  const { answer, effects } = merchant({ 'merchant-42': secret });
  endpoint.script(async (request, response) => {
    await new Promise((resolve) => setTimeout(resolve, 15));
    await answer(request, response);
  });
  await outbox.sender.notifyMany(Array.from({ length: count }, (_, n) => ({ ...event, bizId: `PAY${n}` })));
  return effects;
}

async function allDelivered(outbox: Outbox, effects: ReadonlyMap<string, number>): Promise<void> {
  await awaitUntil(
    'everything is delivered',
    async () => {
      // A row that lost a claim waits for 30 s more; there is no time for that here.
      await outbox.query(`update outbox set due_at = now() where state = 0 and due_at > now() + interval '5 seconds'`);
      const [row] = await outbox.query<{ delivered: number }>(
        'select count(*)::int as delivered from outbox where state = 1',
      );
      return row?.delivered === count;
    },
    { timeoutMs: 40_000, everyMs: 50 },
  );
  expect(effects.size).toBe(count);
  expect(new Set(effects.values())).toEqual(new Set([1]));
}

test('a worker whose connections are terminated again and again goes on by itself', async () => {
  await using outbox = await freshOutbox(open);
  await using endpoint = await scriptedEndpoint(200);
  const effects = await seeded(outbox, endpoint);
  const { name, url } = named();
  const sender = outbox.another({ database: url });
  const worker = sender.startWorker(options);
  let terminated = 0;

  for (let wave = 1; wave <= 5; wave += 1) {
    await endpoint.received(wave * 20);
    const rows = await outbox.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${name}'`,
    );
    terminated += rows.length;
  }

  await allDelivered(outbox, effects);
  expect(terminated).toBeGreaterThanOrEqual(5);
  expect(await worker.stop()).toMatchObject({ dead: 0 });
});

/** Writes from eight sides at once, while the connections of that name are terminated again and again. */
async function writtenMeanwhile(outbox: Outbox, { sender, name }: { sender: Outbox['sender']; name: string }) {
  const written: string[] = [];
  const refusals: unknown[] = [];
  let slowestMs = 0;
  let terminated = 0;
  let isOver = false;
  const side = async (_: unknown, number: number) => {
    for (let n = 0; !isOver; n += 1) {
      const bizIds = [`${number}-${n}-a`, `${number}-${n}-b`]; // of one transaction
      const startedAtMs = performance.now();
      try {
        if (n % 2 === 0) await sender.notifyMany(bizIds.map((bizId) => ({ ...event, bizId })));
        else await sender.notify({ ...event, bizId: `${number}-${n}-alone` });
        written.push(...(n % 2 === 0 ? bizIds : [`${number}-${n}-alone`]));
      } catch (error) {
        refusals.push((error as { code?: unknown }).code);
      }
      slowestMs = Math.max(slowestMs, performance.now() - startedAtMs);
    }
  };
  const sides = Array.from({ length: 8 }, side);
  for (let wave = 0; wave < 40; wave += 1) {
    await sleep(10 + ((wave * 37) % 120));
    const rows = await outbox.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = '${name}'`,
    );
    terminated += rows.length;
  }
  isOver = true;
  await Promise.all(sides);
  expect(terminated).toBeGreaterThanOrEqual(20);
  expect(refusals.length).toBeGreaterThan(0);
  expect(written.length).toBeGreaterThan(0);
  const there = await outbox.query<{ biz_id: string }>('select biz_id from notification');
  expect(there.map((row) => row.biz_id)).toEqual(expect.arrayContaining(written));
  const transactions = there.filter((row) => !row.biz_id.endsWith('alone')).map((row) => row.biz_id.slice(0, -2));
  expect(transactions.length).toBe(2 * new Set(transactions).size); // both of them, or none
  return { refusals, slowestMs };
}

/** The database's URL for connections of a name of their own. */
function named(): { name: string; url: string } {
  const name = `faults-${randomBytes(4).toString('hex')}`;
  const url = new URL(requiredEnv('DATABASE_URL'));
  url.searchParams.set('application_name', name);
  return { name, url: url.href };
}

test('while its connections are terminated again and again, what a sender writes is there whole or refused, at once, and the process lives on', async () => {
  await using outbox = await freshOutbox(open);
  await outbox.putEndpoint({ id: 'merchant-42' });
  const { name, url } = named();

  const { refusals, slowestMs } = await writtenMeanwhile(outbox, { sender: outbox.another({ database: url }), name });

  expect(slowestMs).toBeLessThan(5_000); // a connection that never comes to life is found after 15 s
  expect(refusals).not.toContain('SENDER_DATABASE_TIMEOUT');
});

test("while connections of the platform's own postgres.js are terminated, what is written is there whole or refused, and the process lives on", async () => {
  await using outbox = await freshOutbox(open);
  await outbox.putEndpoint({ id: 'merchant-42' });
  const { name, url } = named();
  const client = postgres(url, { fetch_types: false });
  const sender = outbox.another({ database: drizzle(client), postgres: { queryTimeoutMs: 1_000 } });

  await writtenMeanwhile(outbox, { sender, name });

  await client.end({ timeout: 0 });
});

test('a worker whose PostgreSQL goes away and comes back goes on by itself, and tells of it meanwhile', async () => {
  await using outbox = await freshOutbox(open);
  await using endpoint = await scriptedEndpoint(200);
  await using proxy = await proxyTo(requiredEnv('DATABASE_URL'));
  const effects = await seeded(outbox, endpoint);
  const sender = outbox.another({ database: proxy.url });
  const errors: string[] = [];
  sender.on('error', ({ during }) => errors.push(during));
  const worker = sender.startWorker(options);
  await endpoint.received(30);

  await proxy.goDown();
  await awaitUntil('it says so', () => errors.includes('claim'));
  await expect(sender.notify({ ...event, bizId: 'MEANWHILE' })).rejects.toThrow();
  await proxy.comeUp();

  await allDelivered(outbox, effects);
  await worker.stop();
});

test('a connection that ends before the first statement does not end the process: the driver asks nothing of its own', async () => {
  await using outbox = await freshOutbox(open);
  await using proxy = await proxyTo(requiredEnv('DATABASE_URL'));
  await outbox.putEndpoint({ id: 'merchant-42' });
  proxy.resetAt('typarray'); // nobody would await the driver's look at the types of arrays
  const sender = outbox.another({ database: proxy.url, wakeUp: 'notify' });
  const worker = sender.startWorker();

  await expect(sender.notify(event)).resolves.toMatchObject({ id: expect.stringMatching(/^ntf_/) as string });
  await worker.stop();
});

test('a worker whose connections fall silent makes new ones, instead of waiting for ever', async () => {
  await using outbox = await freshOutbox(open);
  await using endpoint = await scriptedEndpoint(200);
  await using proxy = await proxyTo(requiredEnv('DATABASE_URL'));
  const effects = await seeded(outbox, endpoint);
  const sender = outbox.another({ database: proxy.url, postgres: { maxConnections: 1, queryTimeoutMs: 600 } });
  const errors: unknown[] = [];
  sender.on('error', ({ error }) => errors.push(error));
  const worker = sender.startWorker(options);
  await endpoint.received(30);

  proxy.silenceOpen();

  await allDelivered(outbox, effects);
  expect(errors.map((error) => (error as { code?: string }).code)).toContain('SENDER_DATABASE_TIMEOUT');
  await sender.notifyMany([
    { ...event, bizId: 'A' },
    { ...event, bizId: 'B' },
  ]); // in a transaction
  await worker.stop();
});

test('a look at the urgent lane that fails beside a claim is told, and the lane is asked all the same', async () => {
  await using outbox = await freshOutbox(open);
  await using endpoint = await scriptedEndpoint(200);
  await using proxy = await proxyTo(requiredEnv('DATABASE_URL'));
  const effects = await seeded(outbox, endpoint);
  const sender = outbox.another({ database: proxy.url, postgres: { prepare: false, queryTimeoutMs: 600 } });
  const errors: unknown[] = [];
  sender.on('error', (error) => errors.push(error));
  const worker = sender.startWorker(options);
  await endpoint.received(30);

  proxy.silenceAt('select 1 as one'); // the look

  await awaitUntil('it is told', () => errors.length > 0);
  expect(errors[0]).toMatchObject({ during: 'claim', error: { code: 'SENDER_DATABASE_TIMEOUT' } });
  await allDelivered(outbox, effects);
  await worker.stop();
});

test('a transaction on connections that fell silent fails in time, and the next one works', async () => {
  await using outbox = await freshOutbox(open);
  await using proxy = await proxyTo(requiredEnv('DATABASE_URL'));
  await outbox.putEndpoint({ id: 'merchant-42' });
  const sender = outbox.another({ database: proxy.url, postgres: { maxConnections: 2, queryTimeoutMs: 1_000 } });
  const events = (from: number) => [0, 1, 2].map((n) => ({ ...event, bizId: `PAY${from + n}` }));
  await Promise.all([sender.notifyMany(events(0)), sender.notifyMany(events(10))]); // both connections are in use

  proxy.silenceOpen();
  const startedAtMs = performance.now();

  await expect(sender.notifyMany(events(20))).rejects.toMatchObject({ code: 'SENDER_DATABASE_TIMEOUT' });
  expect(await sender.notifyMany(events(30))).toHaveLength(3);
  expect(performance.now() - startedAtMs).toBeLessThan(8_000);
  await sender.close();
});

test("statements on a database of the platform's own fail in time when its connections fall silent", async () => {
  await using outbox = await freshOutbox(open);
  await using proxy = await proxyTo(requiredEnv('DATABASE_URL'));
  await outbox.putEndpoint({ id: 'merchant-42' });
  const client = postgres(proxy.url, { max: 1 });
  const sender = outbox.another({ database: drizzle(client), postgres: { queryTimeoutMs: 1_000 } });
  await sender.notifyMany([
    { ...event, bizId: 'A' },
    { ...event, bizId: 'B' },
  ]);

  proxy.silenceOpen();

  const timeout = { code: 'SENDER_DATABASE_TIMEOUT', timeoutMs: 1_000 };
  await expect(sender.notify({ ...event, bizId: 'C' })).rejects.toMatchObject(timeout);
  await expect(
    sender.notifyMany([
      { ...event, bizId: 'F' },
      { ...event, bizId: 'G' },
    ]),
  ).rejects.toMatchObject(timeout);
  await client.end({ timeout: 0 });
});

test('a sender is closed in time although a statement will never be answered (R166)', async () => {
  await using outbox = await freshOutbox(open);
  await using proxy = await proxyTo(requiredEnv('DATABASE_URL'));
  await outbox.putEndpoint({ id: 'merchant-42' });
  const sender = outbox.another({ database: proxy.url, postgres: { maxConnections: 1 } });
  await sender.notify(event);
  proxy.silenceOpen();
  const unanswered = expect(sender.notify({ ...event, bizId: 'PAY2' })).rejects.toThrow();

  const startedAtMs = performance.now();
  await sender.close();

  expect(performance.now() - startedAtMs).toBeLessThan(8_000);
  await unanswered;
});

test('a server that is read-only for a while, as after a failover, is waited for (R154)', async () => {
  await using outbox = await freshOutbox(open);
  await using endpoint = await scriptedEndpoint(200);
  const effects = await seeded(outbox, endpoint);
  const role = `faults_${randomBytes(4).toString('hex')}`;
  const password = randomBytes(8).toString('hex');
  const { schema, query } = outbox;
  await query(`create role ${role} login password '${password}'`);
  try {
    await query(`grant all on schema ${schema} to ${role}`);
    for (const kind of ['tables', 'sequences']) await query(`grant all on all ${kind} in schema ${schema} to ${role}`);
    const url = new URL(requiredEnv('DATABASE_URL'));
    url.username = role;
    url.password = password;
    const sender = outbox.another({ database: url.href });
    const codes = new Set<unknown>();
    sender.on('error', ({ error }) => codes.add((error as { code?: unknown }).code));
    const worker = sender.startWorker(options);
    await endpoint.received(30);
    const reconnect = () => query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);

    await query(`alter role ${role} set default_transaction_read_only = on`);
    await reconnect();
    await awaitUntil('it is told so', () => codes.has('25006'));
    await query(`alter role ${role} reset default_transaction_read_only`);
    await reconnect();

    await allDelivered(outbox, effects);
    await worker.stop();
    await sender.close();
  } finally {
    await query(`drop owned by ${role}`);
    await query(`drop role ${role}`);
  }
});
