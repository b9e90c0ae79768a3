import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import { createSettleBuffer, type PendingSettlement } from '../../packages/sender/src/pipeline/settle-buffer.ts';
import type { Settlement } from '../../packages/sender/src/worker/settle.ts';
import { databases } from '../fixtures/databases.ts';
import { claimingOutbox, settlementFor, type ClaimingOutbox } from './claims.ts';

/** The row and its attempts, as an operator sees them. */
async function seen(outbox: ClaimingOutbox) {
  const { items } = await outbox.sender.operations.list();
  return Promise.all(items.map(({ id }) => outbox.sender.operations.show(id)));
}

async function claimOne(outbox: ClaimingOutbox) {
  const [claimed] = await outbox.claim();
  return claimed ?? expect.fail('nothing was claimed');
}

describe.each(databases)('a settle on $name', ({ open }) => {
  test('writes verdict, attempt and next due time together', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    const claimed = await claimOne(outbox);

    expect(await outbox.settle(settlementFor(claimed, { delayMs: 240_000 }))).toEqual(new Set([claimed.number]));

    const [row] = await seen(outbox);
    expect(row).toMatchObject({ state: 'pending', attempts: 1, isClaimed: false, reason: null, settledAt: null });
    const [due] = await outbox.query<{ ms: number }>(
      'select (extract(epoch from due_at - now()) * 1000)::int as ms from outbox',
    );
    expect(due?.ms).toBeGreaterThan(230_000);
    expect(due?.ms).toBeLessThanOrEqual(240_000);
    expect(row?.attemptLog).toMatchObject([
      {
        round: 1,
        ordinal: 1,
        outcome: 'refused',
        status: 500,
        because: 'status-500',
        durationMs: 12,
        snippet: Buffer.from('fail'),
      },
    ]);
    expect(row?.attemptLog[0]?.startedAt).toEqual(new Date(1_800_000_000_000));
  });

  test('keeps apart what rows of one batch do not have in common', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 5 });
    const claimed = await outbox.claim();
    const attempt = settlementFor(claimed[0] ?? expect.fail()).attempt ?? expect.fail();
    const differing = [
      { ...attempt, hint: 'null', error: null },
      { ...attempt, hint: null, error: 'null' },
      { ...attempt, hint: 'one\ntwo', error: '{"a","b"}' },
      { ...attempt, durationMs: 77, startedAtMs: attempt.startedAtMs + 1 },
      null,
    ];

    await outbox.settle(...claimed.map((each, index) => settlementFor(each, { attempt: differing[index] ?? null })));

    const logs = new Map((await seen(outbox)).map((row) => [row.id, row.attemptLog]));
    const written = claimed.map(({ id }) =>
      logs.get(id)?.map(({ hint, error, durationMs }) => [hint, error, durationMs]),
    );
    expect(written).toEqual([
      [['null', null, 12]],
      [[null, 'null', 12]],
      [['one\ntwo', '{"a","b"}', 12]],
      [[null, null, 77]],
      [],
    ]);
  });

  test('keeps the reason of what it ends', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 2 });
    const [first, second] = await outbox.claim();
    if (first === undefined || second === undefined) expect.fail();

    await outbox.settle(
      settlementFor(first, { state: 1, reason: 'duplicate' }),
      settlementFor(second, { state: 2, reason: 'attempts-used-up' }),
    );

    expect(
      new Set((await seen(outbox)).map(({ state, reason, settledAt }) => [state, reason, settledAt !== null].join())),
    ).toEqual(new Set(['delivered,duplicate,true', 'dead,attempts-used-up,true']));
    expect(await outbox.claim()).toEqual([]);
  });

  test.each<[what: string, stale: Partial<Settlement>]>([
    ['success', { state: 1, reason: 'handled' }],
    ['failure', { state: 0 }],
    ['death', { state: 2, reason: 'attempts-used-up' }],
    ['return', { isReturn: true, isCharged: false, attempt: null, delayMs: 0 }],
  ])(
    'with the token of a claim that another has taken over changes nothing: %s (R073, R148, R149)',
    async (_what, stale) => {
      await using outbox = await claimingOutbox(open);
      await outbox.seed({ a: 1 });
      const lost = await claimOne(outbox);
      await outbox.age({ byMs: 30_000 });
      const current = await claimOne(outbox);
      const before = await seen(outbox);

      expect(await outbox.settle(settlementFor(lost, stale))).toEqual(new Set());

      expect(await seen(outbox)).toEqual(before);
      expect(await outbox.settle(settlementFor(current, { state: 1, reason: 'handled' }))).toEqual(
        new Set([current.number]),
      );
    },
  );

  test('after the new owner delivered, the old one cannot undo it, whatever it saw (R073)', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    const slow = await claimOne(outbox);
    await outbox.age({ byMs: 30_000 });
    await outbox.settle(settlementFor(await claimOne(outbox), { state: 1, reason: 'handled' }));
    const before = await seen(outbox);

    expect(await outbox.settle(settlementFor(slow, { state: 0 }))).toEqual(new Set());

    expect(await seen(outbox)).toEqual(before);
    expect(before).toMatchObject([{ state: 'delivered', attempts: 1, attemptLog: [{ ordinal: 1 }] }]);
  });

  test('is written once, however often it is repeated', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    const settlement = settlementFor(await claimOne(outbox));

    expect((await outbox.settle(settlement)).size).toBe(1);
    expect((await outbox.settle(settlement)).size).toBe(0);

    expect(await seen(outbox)).toMatchObject([{ attempts: 1, attemptLog: [{ ordinal: 1 }] }]);
  });

  test('names those of a batch that it wrote, and writes them although others were lost', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 4 });
    const claimed = await outbox.claim();
    const settlements = claimed.map((each, n) =>
      settlementFor(n % 2 === 0 ? each : { ...each, token: '00000000-0000-4000-8000-000000000000' }, {
        state: 1,
        reason: 'handled',
      }),
    );

    expect(await outbox.settle(...settlements)).toEqual(new Set([claimed[0]?.number, claimed[2]?.number]));

    const states = (await seen(outbox)).map(({ state }) => state).sort();
    expect(states).toEqual(['delivered', 'delivered', 'pending', 'pending']);
  });

  test('a return leaves the row as if it had not been claimed: due now, uncharged, its lost claims still counted', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    await outbox.claim();
    await outbox.age({ byMs: 30_000 });
    const second = await claimOne(outbox);

    await outbox.settle(settlementFor(second, { isReturn: true, isCharged: false, delayMs: 0, attempt: null }));

    expect(await outbox.claim()).toMatchObject([{ attempts: 0, lostClaims: 1, waits: 0 }]);
    expect((await seen(outbox))[0]?.attemptLog).toEqual([]);
  });

  test('a row may be cancelled by hand once its lease is over; the worker that comes back is told so', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    const slow = await claimOne(outbox);
    await expect(outbox.sender.operations.cancel(slow.id)).rejects.toMatchObject({
      code: 'SENDER_ILLEGAL_STATE',
      isClaimed: true,
    });
    await outbox.age({ byMs: 30_000 });
    await outbox.sender.operations.cancel(slow.id);

    expect(await outbox.settle(settlementFor(slow, { state: 1, reason: 'handled' }))).toEqual(new Set());

    expect(await seen(outbox)).toMatchObject([{ state: 'cancelled', attempts: 0 }]);
  });

  test('one row that the database refuses holds up none of the others, and keeps its verdict (R101)', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 5 });
    const claimed = await outbox.claim();
    const errors: unknown[] = [];
    const database = openDatabase(outbox.database, {});
    const buffer = createSettleBuffer({
      database,
      schema: outbox.schema,
      now: () => performance.now(),
      onError: (error) => errors.push(error),
    });
    const settled: boolean[] = [];

    for (const [n, each] of claimed.entries()) {
      const settlement = settlementFor(each, { state: 1, reason: 'handled' });
      if (n === 2 && settlement.attempt) settlement.attempt.snippetHex = 'not hex';
      buffer.push({
        settlement,
        claimEndsAtMs: performance.now() + 30_000,
        done: (isSettled) => settled.push(isSettled),
      });
    }
    await buffer.drained();
    await database.close();

    expect(settled).toEqual([true, true, true, true, true]);
    expect(errors).toHaveLength(2); // the batch, and the row by itself
    const rows = await seen(outbox);
    expect(rows.map(({ state }) => state)).toEqual(Array.from({ length: 5 }, () => 'delivered'));
    expect(
      rows
        .flatMap(({ attemptLog }) => attemptLog)
        .map(({ snippet }) => snippet?.toString())
        .sort(),
    ).toEqual(
      ['fail', 'fail', 'fail', 'fail', undefined], // without the excerpt that could not be stored
    );
  });

  test('a settle whose answer was lost, but which was written, is told of as such when it is repeated', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 2 });
    const [first, second] = await outbox.claim();
    if (first === undefined || second === undefined) expect.fail();
    const database = openDatabase(outbox.database, {});
    let answersToLose = 1;
    const losing: typeof database = {
      ...database,
      query: async (text, parameters) => {
        const rows = await database.query(text, parameters);
        if (answersToLose-- > 0) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
        return rows;
      },
    };
    const parts = { database: losing, schema: outbox.schema, onError: () => undefined };
    const results: [name: string, isSettled: boolean][] = [];
    const push = (name: string, now: () => number, settlement: Settlement) => {
      const buffer = createSettleBuffer({ ...parts, now });
      buffer.push({ settlement, claimEndsAtMs: 1_000, done: (isSettled) => results.push([name, isSettled]) });
      return buffer.drained();
    };

    await push('within the lease', () => 999, settlementFor(first, { state: 1, reason: 'handled' }));
    answersToLose = 1;
    let asked = 0;
    // The lease ends while the repeat is under way: then another worker may have taken the row, and nothing is certain.
    await push(
      'beyond it',
      () => (asked++ === 0 ? 999 : 1_001),
      settlementFor(second, { state: 1, reason: 'handled' }),
    );
    await push('a stale one', () => 0, settlementFor(second, { state: 1, reason: 'handled' }));
    await database.close();

    expect(results).toEqual([
      ['within the lease', true],
      ['beyond it', false],
      ['a stale one', false],
    ]);
    expect(await seen(outbox)).toMatchObject([
      { state: 'delivered', attempts: 1 },
      { state: 'delivered', attempts: 1 },
    ]);
  });

  test('what is pushed together is written together, and each is told whether it was', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 600 });
    const claimed = await outbox.claim({ limit: 600 });
    expect(claimed).toHaveLength(600);
    const database = openDatabase(outbox.database, {});
    let statements = 0;
    const counting = {
      ...database,
      query: (...args: Parameters<typeof database.query>) => (statements++, database.query(...args)),
    };
    const buffer = createSettleBuffer({
      database: counting,
      schema: outbox.schema,
      now: () => performance.now(),
      onError: (error) => expect.fail(String(error)),
    });
    const results: boolean[] = [];
    const push = (settlement: Settlement): void =>
      buffer.push({
        settlement,
        claimEndsAtMs: performance.now() + 30_000,
        done: (isSettled) => results.push(isSettled),
      } satisfies PendingSettlement);

    for (const each of claimed) push(settlementFor(each, { state: 1, reason: 'handled' }));
    await buffer.drained();
    await database.close();

    expect(statements).toBeLessThanOrEqual(5);
    expect(results).toEqual(Array.from({ length: 600 }, () => true));
    expect(buffer.size).toBe(0);
  });
});
