import { describe, expect, test } from 'vitest';
import { ClaimRounds } from '../../packages/sender/src/pipeline/claim-rounds.ts';
import { resolveWorkerOptions } from '../../packages/sender/src/options.ts';
import type { Database } from '../../packages/sender/src/outbox/database.ts';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import type { ClaimedNotification } from '../../packages/sender/src/worker/claim-batch.ts';
import { databases } from '../fixtures/databases.ts';
import { claimingOutbox, countByEndpoint, type ClaimingOutbox } from './claims.ts';

/** A worker's claims without the worker: `claim(limit)` gives the rows that one round took. */
function claimRounds(outbox: ClaimingOutbox, database: Database = openDatabase(outbox.database, {})) {
  const rounds = new ClaimRounds({
    ...{ database, schema: outbox.schema, options: resolveWorkerOptions({ maxInFlightPerEndpoint: 1000 }) },
    ...{
      now: () => performance.now(),
      random: () => 0,
      onError: (_: string, error: unknown) => expect.fail(String(error)),
    },
  });
  return {
    async claim(limit: number): Promise<ClaimedNotification[]> {
      const rows: ClaimedNotification[] = [];
      await rounds.claim(limit, new Map(), ({ notifications }) => {
        rows.push(...notifications);
        return Promise.resolve();
      });
      return rows;
    },
    [Symbol.asyncDispose]: () => database.close(),
  };
}

describe.each(databases)('the claims of a worker on $name', ({ open }) => {
  test('never take more than there is room for, also where some endpoints share an exact limit', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.putEndpoint({ id: 'limited', maxInFlightEverywhere: 100 });
    await outbox.seed({ limited: 40, free: 40 });
    await using rounds = claimRounds(outbox);

    expect(countByEndpoint([...(await rounds.claim(10)), ...(await rounds.claim(10))])).toEqual({
      limited: 10,
      free: 10,
    });
  });

  test('leave a tenth to the normal lane, also where slots become free one at a time', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ urgent: 60 }, 'urgent');
    await outbox.seed({ normal: 60 });
    await using rounds = claimRounds(outbox);
    const rows: ClaimedNotification[] = [];
    for (let round = 0; round < 20; round += 1) rows.push(...(await rounds.claim(1)));

    expect(countByEndpoint(rows)).toEqual({ urgent: 18, normal: 2 });
    expect(countByEndpoint(await rounds.claim(20))).toEqual({ urgent: 18, normal: 2 });
  });

  test('give the turn of an empty normal lane to the urgent one', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ urgent: 15 }, 'urgent');
    await using rounds = claimRounds(outbox);
    for (let round = 0; round < 15; round += 1) expect(await rounds.claim(1)).toHaveLength(1);
  });

  test('serve what is urgent in the same round if there is room, else first in the next one, also after a time without', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ normal: 2 });
    await using rounds = claimRounds(outbox);
    expect(await rounds.claim(1)).toHaveLength(1); // and nothing urgent was met

    await outbox.seed({ urgent: 3 }, 'urgent');
    expect(countByEndpoint(await rounds.claim(10))).toEqual({ normal: 1, urgent: 3 });
    expect(await rounds.claim(10)).toEqual([]);

    await outbox.seed({ normal: 30 });
    expect(countByEndpoint(await rounds.claim(10))).toEqual({ normal: 10 });
    await outbox.seed({ urgent: 30 }, 'urgent');
    expect(countByEndpoint(await rounds.claim(10))).toEqual({ normal: 10 });
    expect(countByEndpoint(await rounds.claim(10))).toEqual({ urgent: 9, normal: 1 });
  });

  test('lose no row when a later part of the same round fails', async () => {
    await using outbox = await claimingOutbox(open);
    for (const id of ['a', 'b']) await outbox.putEndpoint({ id, maxInFlightEverywhere: 100 });
    await outbox.seed({ a: 3, b: 3 });
    const database = openDatabase(outbox.database, {});
    let transactions = 0;
    await using rounds = claimRounds(outbox, {
      ...database,
      transaction: (work) =>
        (transactions += 1) === 2 ? Promise.reject(new Error('gone')) : database.transaction(work),
    });

    const rows = await rounds.claim(10);

    expect(rows).toHaveLength(3);
    const [claimed] = await outbox.query('select count(*)::int as count from outbox where claim_token is not null');
    expect(claimed).toEqual({ count: 3 });
  });
});
