import { ConfigurationError, createSender, PayloadConflictError, UnknownEndpointError } from '@bestnotify/sender';
import { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { callers, transactionalCallers } from './callers.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

describe.each(callers)("in a transaction of the caller's, through $name", ({ open, begin }) => {
  test('a notification is real once the transaction commits, together with the order it tells of', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    await outbox.query('create table orders (id text)');

    const { id } = await begin(async (tx, run) => {
      await run(`insert into ${outbox.schema}.orders values ('ORDER7')`);
      return outbox.sender.notify({ endpoint: 'merchant-42', ...paid, subject: 'ORDER7' }, { tx });
    });

    expect(await outbox.query('select id from orders')).toEqual([{ id: 'ORDER7' }]);
    expect(await outbox.sender.operations.show(id)).toMatchObject({ id, state: 'pending', subject: 'ORDER7' });
  });

  test('a rolled-back transaction leaves neither the notification nor its key', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });

    const rolledBack = begin(async (tx) => {
      await outbox.sender.notify({ endpoint: 'merchant-42', ...paid }, { tx });
      throw new Error('the order could not be saved');
    });

    await expect(rolledBack).rejects.toThrow('the order could not be saved');
    expect(await countRows(outbox)).toBe(0);
    const other = { ...paid, data: 'other bytes' };
    expect(await outbox.sender.notify({ endpoint: 'merchant-42', ...other })).toMatchObject({ created: true });
  });

  test('an event enqueued before is found, with its state, in the middle of a transaction', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    const first = await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
    await outbox.sender.operations.cancel(first.id);

    const again = await begin((tx) => outbox.sender.notify({ endpoint: 'merchant-42', ...paid }, { tx }));

    expect(again).toEqual({ id: first.id, created: false, state: 'cancelled' });
  });

  test('notifyMany is all or nothing also when its error is caught and the transaction goes on', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
    const refund = { endpoint: 'merchant-42', type: 'refund.success', data: {} };

    const kept = await begin(async (tx) => {
      const conflicting = [
        { ...refund, bizId: 'RF1' },
        { endpoint: 'merchant-42', ...paid, data: 'other bytes' },
        { ...refund, bizId: 'RF2' },
      ];
      await expect(outbox.sender.notifyMany(conflicting, { tx })).rejects.toBeInstanceOf(PayloadConflictError);
      const unknown = [
        { ...refund, bizId: 'RF3' },
        { ...refund, bizId: 'RF4', endpoint: 'nobody' },
      ];
      await expect(outbox.sender.notifyMany(unknown, { tx })).rejects.toBeInstanceOf(UnknownEndpointError);
      return outbox.sender.notify({ ...refund, bizId: 'RF5' }, { tx });
    });

    const { items } = await outbox.sender.operations.list({ type: 'refund.success' });
    expect(items.map((item) => item.id)).toEqual([kept.id]);
    expect(await countRows(outbox)).toBe(2);
    expect(await outbox.sender.notify({ ...refund, bizId: 'RF1' })).toMatchObject({ created: true });
  });

  test('a hundred notifications of one transaction are a hundred events with ids of their own (R160)', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    const events = Array.from({ length: 100 }, (_, n) => ({ endpoint: 'merchant-42', ...paid, bizId: `PAY${n}` }));

    const results = await begin((tx) => outbox.sender.notifyMany(events, { tx }));

    expect(new Set(results.map((result) => result.id)).size).toBe(100);
    const rows = await outbox.query<{ biz_id: string; id: string }>('select biz_id, id from notification order by id');
    expect(rows.map((row) => [row.biz_id, `ntf_${row.id}`])).toEqual(
      events.map((event, n) => [event.bizId, results[n]?.id]).sort((a, b) => (String(a[1]) < String(b[1]) ? -1 : 1)),
    );
  });
});

describe.each(transactionalCallers)('in sender.transaction, through $name', ({ open, connect }) => {
  const event = { endpoint: 'merchant-42', ...paid };

  test('notify and notifyMany without { tx } are refused at once and written nowhere; with it they commit', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    await using connected = await connect();
    const { sender } = outbox;

    const kept = await sender.transaction(connected.client, async (tx) => {
      for (const forgetful of [() => sender.notify(event), () => sender.notifyMany([event], {})]) {
        const refused = forgetful();
        await expect(refused).rejects.toMatchObject({ code: 'SENDER_CONFIGURATION', option: 'tx' });
        await expect(refused).rejects.toThrow('inside sender.transaction');
      }
      return sender.notify({ ...event, bizId: 'PAY2' }, { tx });
    });

    expect((await sender.operations.list()).items.map((item) => item.id)).toEqual([kept.id]);
    expect(await sender.notify(event)).toMatchObject({ created: true });
    expect(await countRows(outbox)).toBe(2);
  });

  test('a forgotten { tx } leaves nothing behind when the business transaction rolls back because of it', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    await using connected = await connect();

    const rolledBack = outbox.sender.transaction(connected.client, () => outbox.sender.notify(event));

    await expect(rolledBack).rejects.toBeInstanceOf(ConfigurationError);
    expect(await countRows(outbox)).toBe(0);
  });

  test('what was started inside and goes on after the commit, or the rollback, may notify without { tx }', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    await using connected = await connect();
    const { sender } = outbox;
    for (const [bizId, fails] of [['AFTER_COMMIT', false] as const, ['AFTER_ROLLBACK', true] as const]) {
      let end = (): void => undefined;
      const ended = new Promise<void>((resolve) => (end = resolve));
      let later: Promise<unknown> | undefined;
      const transaction = sender.transaction(connected.client, () => {
        later = ended.then(() => sender.notify({ ...event, bizId }));
        return fails ? Promise.reject(new Error('the order was refused')) : Promise.resolve();
      });
      await transaction.catch(() => undefined);
      end();
      expect(await later).toMatchObject({ created: true });
    }
  });
});

test.each([
  ['nothing', undefined],
  ['null', null],
  ['an object', {}],
  ['a URL', 'postgres://127.0.0.1/orders'],
  ['a pool of pg', new Pool()],
])('sender.transaction refuses %s as a client, and says what to do with pg', async (_what, client) => {
  const sender = createSender({ source: 'acme-pay', database: 'postgres://127.0.0.1:1/none' });
  const refused = sender.transaction(client as never, () => Promise.resolve());
  await expect(refused).rejects.toMatchObject({ code: 'SENDER_CONFIGURATION', option: 'client' });
  await expect(refused).rejects.toThrow(/drizzle.*postgres\.js.*PGlite.*pg.*nudge\(\)/);
});

async function countRows({ query }: Awaited<ReturnType<typeof freshOutbox>>): Promise<number> {
  const [row] = await query<{ keys: number; notifications: number; queued: number }>(
    `select (select count(*)::int from notification_key) as keys, (select count(*)::int from notification) as notifications,
            (select count(*)::int from outbox) as queued`,
  );
  expect(new Set(Object.values(row ?? {})).size).toBe(1); // the three tables always agree
  return row?.keys ?? -1;
}
