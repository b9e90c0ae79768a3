import { expect, test } from 'vitest';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import postgres from 'postgres';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const slow = { minPollMs: 60_000, maxPollMs: 60_000 };
const open = databases[0]!.open;

test('a worker of the same sender looks right after a notification is written, long before its next poll', async () => {
  await using outbox = await freshOutbox(open);
  await using merchant = await scriptedEndpoint(200);
  await outbox.putEndpoint({ id: 'm', url: merchant.url });
  outbox.sender.startWorker(slow);
  await outbox.sender.notify({ endpoint: 'm', ...paid });
  await merchant.received(1, 5_000);
});

test('sender.transaction wakes the workers after the commit, and not for a rollback', async () => {
  await using outbox = await freshOutbox(open);
  await using merchant = await scriptedEndpoint(200);
  await outbox.putEndpoint({ id: 'm', url: merchant.url });
  outbox.sender.startWorker(slow);
  const sql = postgres(requiredEnv('DATABASE_URL'), { max: 1 });
  await expect(
    outbox.sender.transaction(sql, async (tx) => {
      await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'LOST' }, { tx });
      throw new Error('the order was refused');
    }),
  ).rejects.toThrow('the order was refused');
  await outbox.sender.transaction(sql, (tx) => outbox.sender.notify({ endpoint: 'm', ...paid }, { tx }));
  await merchant.received(1, 5_000);
  expect((await outbox.sender.operations.list()).items.map(({ bizId }) => bizId)).toEqual(['PAY1']);
  await sql.end();
});

test('requests that finish one after the other do not make a worker look less often for new notifications', async () => {
  await using outbox = await freshOutbox(open);
  const replies = Array.from({ length: 10 }, (_, index) => ({ delayMs: 100 + 30 * index }));
  await using merchant = await scriptedEndpoint({ delayMs: 0 }, ...replies, 200);
  await outbox.putEndpoint({ id: 'm', url: merchant.url });
  await outbox.sender.notifyMany(replies.map((_, index) => ({ endpoint: 'm', ...paid, bizId: `PAY${index}` })));
  const elsewhere = outbox.another(); // its worker hears of nothing that is written here
  const worker = elsewhere.startWorker({ minPollMs: 50, maxPollMs: 60_000, maxInFlightPerEndpoint: 20 });
  await merchant.received(10);
  await expect.poll(() => worker.inFlight, { interval: 5 }).toBe(0);

  await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'LATER' });

  await merchant.received(11, 5_000);
});

test('with NOTIFY a worker of another process hears of it, also after its listening connection was cut', async () => {
  await using outbox = await freshOutbox(open, { wakeUp: 'notify' });
  await using merchant = await scriptedEndpoint(200);
  await outbox.putEndpoint({ id: 'm', url: merchant.url });
  const elsewhere = outbox.another();
  elsewhere.startWorker(slow);
  const listeners = () =>
    outbox.query<{ pid: number }>(
      `select pid from pg_stat_activity where application_name = 'bestnotify listener' and query like '%${outbox.schema}%'`,
    );
  await expect.poll(async () => (await listeners()).length, { timeout: 5_000 }).toBe(1);
  await outbox.sender.notify({ endpoint: 'm', ...paid });
  await merchant.received(1, 5_000);

  const [listener] = await listeners();
  await outbox.query(`select pg_terminate_backend(${listener!.pid})`);
  await expect
    .poll(async () => (await listeners()).some(({ pid }) => pid !== listener!.pid), { timeout: 10_000 })
    .toBe(true);
  await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'PAY2' });
  await merchant.received(2, 5_000);
});

test('NOTIFY on a database that has no connection of its own is refused when the sender is built', async () => {
  await expect(freshOutbox(databases[1]!.open, { wakeUp: 'notify' })).rejects.toMatchObject({ option: 'wakeUp' });
});
