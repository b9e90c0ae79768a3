import { testType } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

/** Attempts of one notification of `endpoint`, as the workers would have logged them. */
async function log(
  outbox: Outbox,
  endpoint: string,
  attempts: readonly { minutesAgo: number; outcome: string; ms: number }[],
) {
  const { id } = await outbox.sender.notify({ endpoint, ...paid, bizId: `PAY-${endpoint}-${attempts.length}` });
  for (const { minutesAgo, outcome, ms } of attempts) {
    await outbox.query(
      `insert into attempt (notification_number, round, ordinal, started_at, duration_ms, outcome, because, url)
       select number, 1, case when $2 in ('aborted', 'internal') then null else 1 end, date_trunc('minute', now()) - $1::int * interval '1 minute',
              $3::int, $2, 'x', 'https://m.example/n' from notification where 'ntf_' || id = $4`,
      [minutesAgo, outcome, ms, id],
    );
  }
  return id;
}

describe.each(databases)('what an operator sees on $name', ({ open }) => {
  test('activity counts the attempts of each minute, and not what was never sent by our own fault', async () => {
    await using outbox = await freshOutbox(open);
    for (const id of ['merchant-42', 'merchant-43']) await outbox.putEndpoint({ id });
    await log(outbox, 'merchant-42', [
      { minutesAgo: 9, outcome: 'acknowledged', ms: 10 },
      { minutesAgo: 9, outcome: 'acknowledged', ms: 20 },
      { minutesAgo: 9, outcome: 'refused', ms: 400 },
      { minutesAgo: 9, outcome: 'internal', ms: 0 },
      { minutesAgo: 9, outcome: 'aborted', ms: 0 },
      { minutesAgo: 5, outcome: 'not-sent', ms: 3 },
      { minutesAgo: 20, outcome: 'acknowledged', ms: 1 },
    ]);
    await log(outbox, 'merchant-43', [{ minutesAgo: 9, outcome: 'no-answer', ms: 10_000 }]);
    const { operations } = outbox.sender;
    const nonzero = async (endpoints?: string[]) =>
      (await operations.activity({ minutes: 15, ...(endpoints && { endpoints }) }))
        .map(({ at: _at, ...minute }) => minute)
        .filter(({ delivered, failed }) => delivered + failed > 0);
    const all = await nonzero();
    expect(all).toEqual([
      { delivered: 2, failed: 2, p50Ms: 20, p95Ms: 10_000, p99Ms: 10_000, isCapped: false },
      { delivered: 0, failed: 1, p50Ms: null, p95Ms: null, p99Ms: null, isCapped: false },
    ]);
    expect(await nonzero(['merchant-43'])).toMatchObject([{ delivered: 0, failed: 1, p50Ms: 10_000 }]);
    expect(await nonzero(['merchant-42'])).toMatchObject([{ delivered: 2, failed: 1, p50Ms: 20 }, { failed: 1 }]);
    const minutes = await operations.activity({ minutes: 15 });
    expect(minutes).toHaveLength(15);
    const gaps = minutes.slice(1).map(({ at }, index) => at.getTime() - (minutes[index]?.at.getTime() ?? 0));
    expect(new Set(gaps)).toEqual(new Set([60_000]));
  });

  test('a minute that is over is read once; one that is still open is read again', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    const delivered = async () =>
      (await outbox.sender.operations.activity({ minutes: 10 })).map((minute) => minute.delivered);
    await log(outbox, 'merchant-42', [{ minutesAgo: 8, outcome: 'acknowledged', ms: 1 }]);
    expect((await delivered()).filter(Boolean)).toEqual([1]);
    await log(outbox, 'merchant-42', [
      { minutesAgo: 8, outcome: 'acknowledged', ms: 1 },
      { minutesAgo: 0, outcome: 'acknowledged', ms: 1 },
    ]);
    expect((await delivered()).filter(Boolean)).toEqual([1, 1]);
  });

  test('the health of endpoints: what is due, in flight, and how the newest attempts went', async () => {
    await using outbox = await freshOutbox(open);
    for (const id of ['merchant-41', 'merchant-42', 'merchant-43']) await outbox.putEndpoint({ id });
    await log(outbox, 'merchant-42', [
      { minutesAgo: 2, outcome: 'refused', ms: 30 },
      { minutesAgo: 1, outcome: 'acknowledged', ms: 10 },
      { minutesAgo: 1, outcome: 'internal', ms: 0 },
    ]);
    await log(outbox, 'merchant-43', []);
    await outbox.query(
      `update outbox set claim_token = gen_random_uuid(), claimed_until = now() + interval '20 seconds'
        where endpoint_key = (select key from endpoint where id = 'merchant-43')`,
    );
    const { operations } = outbox.sender;
    const { items, next } = await operations.endpointHealth();
    expect(items).toMatchObject([
      {
        id: 'merchant-41',
        inFlight: 0,
        due: 0,
        pending: 0,
        attempts: 0,
        acknowledged: 0,
        p50Ms: null,
        lastAttemptAt: null,
      },
      { id: 'merchant-42', inFlight: 0, due: 1, pending: 1, attempts: 2, acknowledged: 1, p50Ms: 10, p95Ms: 30 },
      { id: 'merchant-43', inFlight: 1, due: 0, pending: 1, attempts: 0 },
    ]);
    expect(next).toBeNull();
    const first = await operations.endpointHealth({ limit: 2 });
    expect(first.next).toBe('merchant-42');
    expect((await operations.endpointHealth({ limit: 2, after: 'merchant-42' })).items.map(({ id }) => id)).toEqual([
      'merchant-43',
    ]);
    expect(
      (await operations.endpointHealth({ endpoints: ['merchant-43', 'nobody'] })).items.map(({ id }) => id),
    ).toEqual(['merchant-43']);
  });

  test('stats of some endpoints count theirs alone', async () => {
    await using outbox = await freshOutbox(open);
    for (const id of ['merchant-42', 'merchant-43']) {
      await outbox.putEndpoint({ id });
      for (const bizId of ['PAY1', 'PAY2', 'PAY3']) await outbox.sender.notify({ endpoint: id, ...paid, bizId });
    }
    await outbox.query(
      `update outbox o set state = 2, settled_at = now() - case when n.biz_id = 'PAY1' then interval '2 days' else interval '1 hour' end
         from notification n where n.number = o.number and n.biz_id <> 'PAY3'`,
    );
    await outbox.query(`update outbox set due_at = now() - interval '1 minute' where state = 0`);
    await outbox.sender.operations.holdEndpoint('merchant-43');
    await outbox.query(
      `update endpoint_health set parked_until = now() where endpoint_key = (select key from endpoint where id = 'merchant-43')`,
    );
    const { operations } = outbox.sender;
    expect(await operations.stats()).toMatchObject({
      due: 2,
      dead: 4,
      diedSince: 2,
      heldEndpoints: 1,
      parkedEndpoints: 1,
    });
    const mine = await operations.stats({
      endpoints: ['merchant-42'],
      diedSince: new Date(Date.now() - 3 * 86_400_000),
    });
    expect(mine).toMatchObject({ due: 1, inFlight: 0, dead: 2, diedSince: 2, heldEndpoints: 0, parkedEndpoints: 0 });
    expect(mine.oldestDueMs).toBeGreaterThan(59_000);
    expect(await operations.stats({ endpoints: [] })).toMatchObject({ due: 0, dead: 0, oldestDueMs: 0 });
  });

  test('a test is a notification like any other, tried once and audited; nobody gets one who is not there (R193)', async () => {
    await using outbox = await freshOutbox(open);
    await using endpoint = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const { operations } = outbox.sender;
    const id = await operations.testSend('merchant-42', { actor: 'olga', note: 'after the move' });
    await outbox.sender.runOnce();
    await outbox.sender.runOnce();
    expect(endpoint.requests).toHaveLength(1);
    expect(await operations.show(id)).toMatchObject({
      type: testType,
      state: 'dead',
      reason: 'attempts-used-up',
      maxAttempts: 1,
    });
    expect((await operations.audit()).items).toMatchObject([
      { actor: 'olga', action: 'test-send', notification: id, note: 'after the move' },
    ]);
    await expect(operations.testSend('nobody')).rejects.toMatchObject({ code: 'SENDER_UNKNOWN_ENDPOINT' });
    await expect(operations.testSend('merchant-42', { endpoints: ['merchant-43'] })).rejects.toMatchObject({
      code: 'SENDER_UNKNOWN_ENDPOINT',
    });
    expect((await operations.audit()).items).toHaveLength(1);
  });

  test('for one who is limited to other endpoints, nothing here exists', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    const { id } = await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
    const { operations } = outbox.sender;
    const limits = { endpoints: ['merchant-43'] };
    const unknownNotification = { code: 'SENDER_UNKNOWN_NOTIFICATION' };
    const unknownEndpoint = { code: 'SENDER_UNKNOWN_ENDPOINT' };
    await expect(operations.show(id, limits)).rejects.toMatchObject(unknownNotification);
    await expect(operations.sendNow(id, limits)).rejects.toMatchObject(unknownNotification);
    await expect(operations.cancel(id, limits)).rejects.toMatchObject(unknownNotification);
    await expect(operations.resend(id, limits)).rejects.toMatchObject(unknownNotification);
    await expect(operations.close(id, { ...limits, note: 'x' })).rejects.toMatchObject(unknownNotification);
    await expect(operations.erase(id, limits)).rejects.toMatchObject(unknownNotification);
    await expect(operations.holdEndpoint('merchant-42', limits)).rejects.toMatchObject(unknownEndpoint);
    await expect(operations.resumeEndpoint('merchant-42', limits)).rejects.toMatchObject(unknownEndpoint);
    await expect(operations.rotateSecret('merchant-42', limits)).rejects.toMatchObject(unknownEndpoint);
    expect(await operations.show(id, { endpoints: ['merchant-42'] })).toMatchObject({ state: 'pending' });
    expect((await operations.audit()).items).toEqual([]);
  });
});
