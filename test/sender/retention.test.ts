import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const day = 24 * 60 * 60 * 1000;

async function settled(outbox: Outbox, state: number, bizId: string): Promise<string> {
  const { id } = await outbox.sender.notify({ endpoint: 'm', ...paid, bizId });
  await outbox.query(
    `update outbox set state = ${state}, settled_at = now() where number = (select max(number) from outbox)`,
  );
  return id;
}

describe.each(databases)('retention on $name', ({ open }) => {
  test('removes what is settled and old, keeps what is pending, dead or young, and the key of all of them (R170)', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    const old = await settled(outbox, 1, 'OLD');
    await settled(outbox, 2, 'DEAD');
    await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'PENDING' });
    await outbox.age({ byMs: 40 * day });
    await settled(outbox, 1, 'YOUNG');

    expect(await outbox.sender.operations.prune()).toMatchObject({ notifications: 1 });

    const left = (await outbox.sender.operations.list()).items.map(({ bizId }) => bizId);
    expect(left.sort()).toEqual(['DEAD', 'PENDING', 'YOUNG']);
    expect(await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'OLD' })).toEqual({
      id: old,
      created: false,
      state: 'delivered',
    });
    await expect(outbox.sender.operations.resend(old)).rejects.toMatchObject({ code: 'SENDER_UNKNOWN_NOTIFICATION' });
    await expect(outbox.sender.operations.resend(old)).rejects.toThrow(/pruned or erased/);
  });

  test('goes on batch by batch until nothing is left, and tells how far it is', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    await outbox.sender.notifyMany(
      Array.from({ length: 25 }, (_, index) => ({ endpoint: 'm', ...paid, bizId: `P${index}` })),
    );
    await outbox.query('update outbox set state = 1, settled_at = now()');
    await outbox.age({ byMs: 40 * day });
    const seen: number[] = [];
    await outbox.sender.operations.prune({
      batchSize: 10,
      pauseMs: 0,
      onProgress: ({ notifications }) => seen.push(notifications),
    });
    expect(seen.slice(0, 3)).toEqual([10, 20, 25]);
  });

  test('keys outlive their notification, but not for ever', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    await settled(outbox, 1, 'OLD');
    await outbox.age({ byMs: 40 * day });
    await outbox.sender.operations.prune();
    await outbox.query("update notification_key set created_at = now() - interval '401 days'");
    expect(await outbox.sender.operations.prune()).toMatchObject({ keys: 1 });
    expect(await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'OLD' })).toMatchObject({ created: true });
  });

  test('erase removes a body and the stored replies for good; what is pending is refused', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    const id = await settled(outbox, 1, 'PAY1');
    await outbox.query(`insert into attempt (notification_number, round, started_at, duration_ms, outcome, because, snippet, url)
      select number, 1, now(), 1, 'acknowledged', 'handled', 'success', 'http://x/' from outbox`);
    await outbox.sender.operations.erase(id, { actor: 'dpo' });
    expect(await outbox.sender.operations.show(id)).toMatchObject({ body: null, attemptLog: [{ snippet: null }] });
    await expect(outbox.sender.operations.resend(id)).rejects.toMatchObject({ code: 'SENDER_UNKNOWN_NOTIFICATION' });
    const { id: pending } = await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'PAY2' });
    await expect(outbox.sender.operations.erase(pending)).rejects.toMatchObject({ code: 'SENDER_ILLEGAL_STATE' });
  });
});
