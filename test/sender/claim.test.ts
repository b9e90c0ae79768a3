import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import { sweepOverAge } from '../../packages/sender/src/outbox/sweep.ts';
import { databases } from '../fixtures/databases.ts';
import { claimingOutbox, countByEndpoint, settlementFor } from './claims.ts';
import { paid } from './fresh-outbox.ts';

describe.each(databases)('a claim on $name', ({ name, open }) => {
  test('takes what was enqueued this very moment: due means due_at <= now()', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });

    expect(await outbox.claim()).toHaveLength(1);
  });

  test('leaves what is due later, by however little', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 3 });
    await outbox.query(
      `update outbox set due_at = now() + interval '1 minute' where number <> (select min(number) from outbox)`,
    );

    expect(await outbox.claim()).toHaveLength(1);
    await outbox.age({ byMs: 20_000 });
    expect(await outbox.claim()).toHaveLength(0);
    await outbox.age({ byMs: 40_000 });
    expect(await outbox.claim()).toHaveLength(3); // and the first one's lease is over
  });

  test('tells everything that an attempt needs', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 0 });
    const url = 'https://merchant.example/ORDER7';
    const event = { ...paid, subject: 'ORDER7', url, policy: 'article', maxAttempts: 3 };
    const { id } = await outbox.sender.notify({ endpoint: 'a', ...event });

    const [claimed] = await outbox.claim();

    expect(claimed).toMatchObject({
      ...{ id, source: 'acme-pay', to: 'a', type: paid.type, bizId: 'PAY1', subject: 'ORDER7', url, policy: 'article' },
      ...{ maxAttempts: 3, contentType: 'application/json', round: 1, attempts: 0, lostClaims: 0, waits: 0 },
      ...{ ageMs: null, mayHaveArrived: false, duplicateAccepted: false },
    });
    expect(claimed?.body?.equals((await outbox.sender.operations.show(id)).body ?? Buffer.alloc(0))).toBe(true);
  });

  test('gives each endpoint that has something due an equal share', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ big: 300, b: 40, c: 3, d: 40 });

    expect(countByEndpoint(await outbox.claim({ limit: 40 }))).toEqual({ big: 10, b: 10, c: 3, d: 10 });
    expect(countByEndpoint(await outbox.claim({ limit: 1 }))).toEqual({ big: 1 });
    expect(await outbox.claim({ limit: 400 })).toHaveLength(30 + 30 + 134); // never over a share, but the next claim goes on
    expect(await outbox.claim({ limit: 400 })).toHaveLength(383 - 40 + 7 - 1 - 194);
  });

  test('with fewer slots than endpoints goes round: behind the last one served, and from the start again', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 3, b: 3, c: 3, d: 3, e: 3 });

    const served: string[][] = [];
    let cursor = '0';
    for (let pass = 0; pass < 5; pass += 1) {
      const request = { limit: 2, cursor };
      const claimed = await outbox.claim(request);
      served.push(claimed.map(({ to }) => to).sort());
      const last =
        served.at(-1)?.at(-1) === 'e' && served.at(-1)?.[0] === 'a' ? claimed.find(({ to }) => to === 'a') : undefined;
      cursor = (last ?? claimed.reduce((x, y) => (BigInt(x.endpointKey) > BigInt(y.endpointKey) ? x : y))).endpointKey;
    }
    expect(served).toEqual([
      ['a', 'b'],
      ['c', 'd'],
      ['a', 'e'],
      ['b', 'c'],
      ['d', 'e'],
    ]);
  });

  test('moves the cursor to the endpoint that the rotation reached, also across the end', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 9, b: 9, c: 9 });
    const keys = await outbox.query<{ key: string }>('select key::text from endpoint order by key');
    const [a, b, c] = keys.map(({ key }) => key);

    expect(await outbox.cursorAfter({ limit: 2, cursor: '0' })).toBe(b);
    expect(await outbox.cursorAfter({ limit: 2, cursor: String(b) })).toBe(a);
    expect(await outbox.cursorAfter({ limit: 3, cursor: String(c) })).toBe(c);
    expect(await outbox.cursorAfter({ limit: 1, cursor: '999' })).toBe(a);
    await outbox.query('update outbox set state = 3');
    expect(await outbox.cursorAfter({ cursor: '7' })).toBe('7'); // nobody was served
  });

  test("never goes over an endpoint's limit in flight, its own or the worker's default", async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.putEndpoint({ id: 'narrow', maxInFlight: 2 });
    await outbox.putEndpoint({ id: 'wide', maxInFlight: 20 });
    await outbox.seed({ narrow: 50, wide: 50, plain: 50 });
    const keys = await outbox.query<{ id: string; key: string }>('select id, key::text from endpoint');
    const keyOf = (id: string) => keys.find((row) => row.id === id)?.key ?? '';

    expect(countByEndpoint(await outbox.claim({ defaultMaxInFlight: 5 }))).toEqual({ narrow: 2, wide: 20, plain: 5 });
    const inFlight = new Map([
      [keyOf('narrow'), 1],
      [keyOf('wide'), 20],
      [keyOf('plain'), 7], // the default was lowered meanwhile
    ]);
    expect(countByEndpoint(await outbox.claim({ defaultMaxInFlight: 5, inFlight }))).toEqual({ narrow: 1 });
  });

  test('passes over saturated and held endpoints without taking slots from the others (R172)', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ saturated: 200, held: 200, healthy: 5 });
    await outbox.sender.operations.holdEndpoint('held');
    const [saturated] = await outbox.query<{ key: string }>(`select key::text from endpoint where id = 'saturated'`);
    const inFlight = new Map([[saturated?.key ?? '', 8]]);

    const claimed = await outbox.claim({ limit: 10, defaultMaxInFlight: 8, inFlight });

    expect(countByEndpoint(claimed)).toEqual({ healthy: 5 });
    await outbox.sender.operations.resumeEndpoint('held');
    await outbox.query(`update endpoint_health set ramped_from = null`); // it comes back slowly, which is not the question here
    expect(countByEndpoint(await outbox.claim({ limit: 10 }))).toEqual({ saturated: 5, held: 5 });
  });

  test('takes a row whose lease has run out again, counts the lost claim, and not before (R158)', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    const [first] = await outbox.claim({ leaseMs: 30_000 });

    await outbox.age({ byMs: 29_000 });
    expect(await outbox.claim()).toEqual([]);
    await outbox.age({ byMs: 1_000 });
    const [second] = await outbox.claim();

    expect(second).toMatchObject({ number: first?.number, attempts: 0, lostClaims: 1, mayHaveArrived: true });
    expect(second?.token).not.toBe(first?.token);
  });

  test('leaves rows where they are in the order of what is due, and passes over them while somebody holds them', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 4, b: 1 });
    const dueTimes = () => outbox.query('select number::text, due_at::text from outbox order by number');
    const before = await dueTimes();

    const first = await outbox.claim({ limit: 2 });
    const stats = await outbox.sender.operations.stats();
    const second = await outbox.claim();

    expect(stats).toMatchObject({ inFlight: 2, due: 3 });
    expect(await outbox.sender.operations.stats()).toMatchObject({ inFlight: 5, due: 0, oldestDueMs: 0 });
    expect(new Set([...first, ...second].map(({ number }) => number)).size).toBe(5);
    expect(await dueTimes()).toEqual(before);
  });

  test('of an older release holds as long as it was meant to: its lease is in due_at', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    await outbox.query(`update outbox set claim_token = gen_random_uuid(), due_at = now() + interval '30 seconds'`);

    await outbox.age({ byMs: 29_000 });
    expect(await outbox.claim()).toEqual([]);
    await outbox.age({ byMs: 1_000 });
    expect(await outbox.claim()).toMatchObject([{ lostClaims: 1, mayHaveArrived: true }]);
  });

  test('leases a row longer for each claim it loses: 30 s doubling, at most 1 h more', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    const leasesMs: number[] = [];
    for (let lost = 0; lost <= 9; lost += 1) {
      expect(await outbox.claim({ leaseMs: 30_000 })).toMatchObject([{ lostClaims: lost, attempts: 0 }]);
      const [row] = await outbox.query<{ ms: number }>(
        'select (extract(epoch from claimed_until - now()) * 1000)::int as ms from outbox',
      );
      leasesMs.push(Math.ceil((row?.ms ?? 0) / 1000) * 1000);
      await outbox.age({ byMs: 24 * 60 * 60 * 1000 });
    }

    const minutes = [0, 0.5, 1, 2, 4, 8, 16, 32, 60, 60];
    expect(leasesMs).toEqual(minutes.map((more) => 30_000 + more * 60_000));
  });

  test('starts counting lost claims anew once a row was settled', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1 });
    await outbox.claim();
    await outbox.age({ byMs: 60_000 });
    const [second] = await outbox.claim();
    if (second === undefined) expect.fail();
    await outbox.settle(settlementFor(second));
    await outbox.age({ byMs: 120_000 });

    expect(await outbox.claim()).toMatchObject([{ attempts: 1, lostClaims: 0 }]);
  });

  test('asks one lane at a time', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 3 }, 'normal');
    await outbox.seed({ a: 2 }, 'urgent');

    expect(await outbox.claim({ lane: 0 })).toHaveLength(2);
    expect(await outbox.claim({ lane: 0 })).toHaveLength(0);
    expect(await outbox.claim({ lane: 1 })).toHaveLength(3);
  });

  test('keeps ids above 2^31 and 2^53 exact, through claim and settle', async () => {
    await using outbox = await claimingOutbox(open);
    for (const start of ['2147483647', '9007199254740992']) {
      await outbox.query(`alter sequence notification_number restart with ${start}`);
      await outbox.query(`alter table endpoint alter column key restart with ${start}`);
      await outbox.seed({ [`n${start}`]: 3, [`m${start}`]: 3 });

      const claimed = await outbox.claim({ cursor: String(BigInt(start) - 1n) });

      const numbers = claimed.map(({ number }) => BigInt(number) - BigInt(start)).sort();
      expect(numbers).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
      expect(new Set(claimed.map(({ endpointKey }) => BigInt(endpointKey) - BigInt(start)))).toEqual(new Set([0n, 1n]));
      const inFlight = new Map(claimed.map(({ endpointKey }) => [endpointKey, 1]));
      expect(await outbox.claim({ inFlight, defaultMaxInFlight: 1 })).toEqual([]);
      expect(
        await outbox.settle(...claimed.map((each) => settlementFor(each, { state: 1, reason: 'handled' }))),
      ).toEqual(new Set(claimed.map(({ number }) => number)));
    }
  });

  test('gives at most what was asked for, and each row once, to sixteen at the same moment', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 150, b: 150, c: 100 });

    const claims = await Promise.all(
      Array.from({ length: 16 }, (_, n) => outbox.claim({ limit: 20 + n, cursor: String(n % 4) })),
    );

    for (const [n, claimed] of claims.entries()) expect(claimed.length).toBeLessThanOrEqual(20 + n);
    const numbers = claims.flat().map(({ number }) => number);
    expect(new Set(numbers).size).toBe(numbers.length);
    const [row] = await outbox.query<{ claimed: number }>('select count(claim_token)::int as claimed from outbox');
    expect(row?.claimed).toBe(numbers.length);
    if (name === 'PostgreSQL') expect(numbers.length).toBeGreaterThan(100); // skipping what others hold finds something
  });

  test('that ran out is remembered by a cancel and by the sweep: its request may have arrived', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ cancelled: 1, swept: 1 });
    await outbox.claim();
    await outbox.age({ byMs: 31 * 24 * 3_600_000 });
    const { items } = await outbox.sender.operations.list();
    const idOf = (endpoint: string) => items.find((item) => item.endpoint === endpoint)?.id ?? '';

    await outbox.sender.operations.cancel(idOf('cancelled'));
    await outbox.query('update endpoint_health set parked_until = now()');
    const database = openDatabase(outbox.database, {});
    const { swept } = await sweepOverAge(database, { schema: outbox.schema, defaultPolicy: 'alipay', after: '0' });
    await database.close();

    expect(swept).toHaveLength(1);
    for (const id of ['cancelled', 'swept'].map(idOf)) {
      await expect(outbox.sender.operations.resend(id)).rejects.toMatchObject({ code: 'SENDER_DUPLICATE_EFFECT' });
    }
  });

  test('reclaims ten thousand expired leases in bounded batches, all of them', async () => {
    await using outbox = await claimingOutbox(open);
    await outbox.seed({ a: 1, b: 1 });
    await outbox.query(
      `insert into notification (number, id, source, endpoint, type, biz_id, content_type, body)
       select 1000 + n, gen_random_uuid(), 'acme-pay', 'a', 'x', 'E' || n, 'text/plain', '' from generate_series(1, 10000) n`,
    );
    await outbox.query(
      `insert into outbox (number, endpoint_key, lane, due_at, claim_token, first_claimed_at)
       select 1000 + n, (select min(key) from endpoint), 1, now() - interval '1 hour', gen_random_uuid(), now() - interval '2 hours'
         from generate_series(1, 10000) n`,
    );

    let reclaimed = 0;
    for (let pass = 0; pass < 30; pass += 1) {
      const claimed = await outbox.claim({ limit: 1000, defaultMaxInFlight: 10_000 });
      expect(claimed.length).toBeLessThanOrEqual(1000);
      reclaimed += claimed.filter(({ lostClaims }) => lostClaims === 1).length;
      if (claimed.length === 0) break;
    }
    expect(reclaimed).toBe(10_000);
  });
});
