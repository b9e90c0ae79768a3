import { describe, expect, test } from 'vitest';
import { scriptedEndpoint, type ScriptedReply } from '@bestnotify/sender/testing';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import { sweepOverAge } from '../../packages/sender/src/outbox/sweep.ts';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const once = { policies: { once: { gapsMs: [60_000] } }, policy: 'once' } as const;

async function enqueue(outbox: Outbox, endpoint: string, count: number, from = 0): Promise<void> {
  await outbox.sender.notifyMany(
    Array.from({ length: count }, (_, index) => ({ endpoint, ...paid, bizId: `PAY${from + index}` })),
  );
}

/** Ten failures in a row: the endpoint is parked after that. */
async function park(outbox: Outbox, endpoint: string): Promise<void> {
  await enqueue(outbox, endpoint, 10);
  await outbox.sender.runOnce({ maxInFlightPerEndpoint: 10 });
  expect((await outbox.sender.endpoints.get(endpoint))?.parkedForMs).toBeGreaterThan(25_000);
}

async function endPark(outbox: Outbox): Promise<void> {
  await outbox.query('update endpoint_health set parked_until = now(), probe_until = null');
}

describe.each(databases)('endpoint health on $name', ({ open }) => {
  test('ten failures in a row park an endpoint once for all workers; its rows are not touched any more (R182)', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    const parked: unknown[] = [];
    outbox.sender.on('endpointParked', (event) => parked.push(event));

    await park(outbox, 'm');
    await enqueue(outbox, 'm', 5, 100);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
    expect(await outbox.another().runOnce()).toMatchObject({ claimed: 0 });

    expect(merchant.requests).toHaveLength(10);
    expect(parked).toEqual([{ source: 'acme-pay', endpoint: 'm', forMs: 30_000, failures: 10 }]);
  });

  test('nine failures and a good reply park nobody', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(
      ...([500, 500, 500, 500, 500, 500, 500, 500, 500, 200, 500] as const),
    );
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await enqueue(outbox, 'm', 11);
    await outbox.sender.runOnce({ maxInFlightPerEndpoint: 1 });
    expect(await outbox.sender.endpoints.get('m')).toMatchObject({ parkedForMs: null, failures: 1 });
  });

  test.each([401, 409, 413, 415, 422, 404])('a reply of %i never counts: the endpoint is alive', async (status) => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(status);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await enqueue(outbox, 'm', 12);
    await outbox.sender.runOnce({ maxInFlightPerEndpoint: 12 });
    expect(await outbox.sender.endpoints.get('m')).toMatchObject({ parkedForMs: null, failures: 0 });
  });

  test('one probe finds out whether a parked endpoint is back; a failed one is logged, not charged, and doubles the park', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await park(outbox, 'm');
    await enqueue(outbox, 'm', 3, 100);

    await endPark(outbox);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, retrying: 1 });
    expect((await outbox.sender.endpoints.get('m'))?.parkedForMs).toBeGreaterThan(55_000);
    const { items } = await outbox.sender.operations.list();
    const fresh = items.filter(({ attempts }) => attempts === 0);
    const details = await Promise.all(fresh.map(({ id }) => outbox.sender.operations.show(id)));
    expect(details.find(({ attemptLog }) => attemptLog.length > 0)).toMatchObject({
      attempts: 0,
      attemptLog: [{ ordinal: null, because: 'status-500' }],
    });

    merchant.script(200);
    const back: unknown[] = [];
    outbox.sender.on('endpointUnparked', (event) => back.push(event));
    await endPark(outbox);
    await outbox.sender.runOnce({ limit: 1 });
    expect(back).toEqual([{ source: 'acme-pay', endpoint: 'm' }]);
    expect(await outbox.sender.endpoints.get('m')).toMatchObject({ parkedForMs: null, failures: 0 });
  });

  test('a probe never takes the row that failed last, unless it is the only one', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await park(outbox, 'm');
    const [health] = await outbox.query<{ last: string }>('select last_failed::text as last from endpoint_health');
    await outbox.query(`update outbox set due_at = now() - interval '1 hour' where number = ${health!.last}`);
    await outbox.query(`update outbox set due_at = now() - interval '1 minute' where number <> ${health!.last}`);

    await endPark(outbox);
    await outbox.sender.runOnce();
    const [again] = await outbox.query<{ last: string }>('select last_failed::text as last from endpoint_health');
    expect(again!.last).not.toBe(health!.last);

    await outbox.query(`update outbox set due_at = now() + interval '1 hour' where number <> ${again!.last}`);
    await outbox.query(`update outbox set due_at = now() where number = ${again!.last}`);
    await endPark(outbox);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1 });
  });

  test('after downtime the backlog comes back slowly: one request at first, the whole limit after 30 s', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint({ delayMs: 20 } satisfies ScriptedReply);
    await outbox.putEndpoint({ id: 'm', url: merchant.url, maxInFlight: 30 });
    await enqueue(outbox, 'm', 10);
    // The ramp as it is at its very beginning, however long this machine takes for the pass.
    await outbox.query("update endpoint_health set ramped_from = now() + interval '1 minute'");
    await outbox.sender.runOnce();
    expect(merchant.mostInFlight).toBe(1);

    await enqueue(outbox, 'm', 10, 100);
    await outbox.query("update endpoint_health set ramped_from = now() - interval '31 seconds'");
    await outbox.sender.runOnce();
    expect(merchant.mostInFlight).toBeGreaterThan(2);
    expect(merchant.requests).toHaveLength(20);
  });

  test('503 with retry-after rests the whole endpoint, at most 5 minutes; with reason retry-later only the row', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint({ status: 503, headers: { 'retry-after': '3600' } });
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await enqueue(outbox, 'm', 1);
    await outbox.sender.runOnce();
    await enqueue(outbox, 'm', 1, 100);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
    const [rest] = await outbox.query<{ ms: number }>(
      'select (extract(epoch from rest_until - now()) * 1000)::int as ms from endpoint_health',
    );
    expect(rest!.ms).toBeGreaterThan(290_000);
    expect(rest!.ms).toBeLessThanOrEqual(300_000);

    await outbox.query('update endpoint_health set rest_until = null');
    merchant.script({ status: 503, headers: { 'retry-after': '60', 'bestnotify-reason': 'retry-later' } });
    await outbox.sender.runOnce();
    await enqueue(outbox, 'm', 1, 200);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1 });
  });

  test('two 410 in a row hold the endpoint, one does not; resuming gives it a fresh start (R143)', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(410, 500, 410, 410);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    const disabled: unknown[] = [];
    outbox.sender.on('endpointDisabled', (event) => disabled.push(event));
    await enqueue(outbox, 'm', 5);

    await outbox.sender.runOnce({ limit: 1 });
    expect((await outbox.sender.endpoints.get('m'))?.heldBecause).toBeNull();
    await outbox.sender.runOnce({ limit: 3, maxInFlightPerEndpoint: 1 });
    expect((await outbox.sender.endpoints.get('m'))?.heldBecause).toBe('gone');
    expect(disabled).toEqual([{ source: 'acme-pay', endpoint: 'm' }]);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });

    await outbox.sender.operations.resumeEndpoint('m');
    expect((await outbox.sender.endpoints.get('m'))?.heldBecause).toBeNull();
  });

  test("a notification's own URL on another host neither parks nor disables the merchant", async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(200);
    await using elsewhere = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await outbox.sender.notifyMany(
      Array.from({ length: 12 }, (_, index) => ({ endpoint: 'm', ...paid, bizId: `OWN${index}`, url: elsewhere.url })),
    );
    await outbox.sender.runOnce({ maxInFlightPerEndpoint: 12 });
    expect(await outbox.sender.endpoints.get('m')).toMatchObject({ parkedForMs: null, failures: 0, heldBecause: null });
  });

  test('while the merchant is parked, what goes to another host is charged for its own failure there', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await using elsewhere = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await park(outbox, 'm');
    const { id } = await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'PAY100', url: elsewhere.url });
    await endPark(outbox);

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, retrying: 1 });

    expect(await outbox.sender.operations.show(id)).toMatchObject({ attempts: 1 });
  });

  test('probes that go to another host do not hold up the one that finds out: each frees the next at once', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await using elsewhere = await scriptedEndpoint(200);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await park(outbox, 'm');
    await outbox.sender.notifyMany(
      Array.from({ length: 3 }, (_, n) => ({ endpoint: 'm', ...paid, bizId: `OWN${n}`, url: elsewhere.url })),
    );
    await outbox.query("update outbox set due_at = now() + interval '1 day' where attempts > 0");
    await endPark(outbox);
    for (let probe = 1; probe <= 3; probe += 1) {
      await outbox.sender.runOnce({ limit: 1 });
      expect(elsewhere.requests).toHaveLength(probe);
      expect((await outbox.sender.endpoints.get('m'))?.parkedForMs).toBe(0); // nothing was found out
    }

    merchant.script(200);
    await enqueue(outbox, 'm', 1, 100);
    await outbox.sender.runOnce({ limit: 1 });

    expect((await outbox.sender.endpoints.get('m'))?.parkedForMs).toBeNull();
  });

  test('with the breaker switched off nothing is parked', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await enqueue(outbox, 'm', 12);
    await outbox.sender.runOnce({ breaker: false });
    expect((await outbox.sender.endpoints.get('m'))?.parkedForMs).toBeNull();
  });

  test('when most of many endpoints cannot be reached the fault is ours: nothing is charged, nobody is parked, one alert', async () => {
    await using outbox = await freshOutbox(open, once);
    await using closed = await scriptedEndpoint(200);
    await closed.goDown();
    for (let index = 0; index < 10; index += 1) await outbox.putEndpoint({ id: `m${index}`, url: closed.url });
    for (let index = 0; index < 10; index += 1) await enqueue(outbox, `m${index}`, 2);
    const alerts: unknown[] = [];
    outbox.sender.on('suspended', (event) => alerts.push(event));

    await outbox.sender.runOnce();

    expect(alerts).toHaveLength(1);
    const { items } = await outbox.sender.operations.list();
    expect(items.every(({ state, attempts }) => state === 'pending' && attempts === 0)).toBe(true);
    const [failing] = await outbox.query<{ count: number }>(
      'select count(*)::int as count from endpoint_health where failures > 0',
    );
    expect(failing!.count).toBe(0);
  });

  test('a few endpoints that are down are simply down: they are charged', async () => {
    await using outbox = await freshOutbox(open, once);
    await using closed = await scriptedEndpoint(200);
    await closed.goDown();
    for (const id of ['a', 'b', 'c']) await outbox.putEndpoint({ id, url: closed.url });
    for (const id of ['a', 'b', 'c']) await enqueue(outbox, id, 1);
    await outbox.sender.runOnce();
    expect((await outbox.sender.operations.list()).items.map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
  });

  test('the sweep ends what is over age on a parked endpoint, and leaves held ones and fresh ones alone', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await park(outbox, 'm');
    await enqueue(outbox, 'm', 1, 100);
    const sweep = async () => {
      const database = openDatabase(outbox.database, {});
      const { swept } = await sweepOverAge(database, { schema: outbox.schema, defaultPolicy: 'alipay', after: '0' });
      await database.close();
      return swept.map(({ reason }) => reason);
    };
    await outbox.query("update notification set policy = 'article' where biz_id <> 'PAY100'");
    expect(await sweep()).toEqual([]);

    await outbox.query("update outbox set first_attempt_at = first_attempt_at - interval '2 hours'");
    await outbox.sender.operations.holdEndpoint('m');
    expect(await sweep()).toEqual([]);
    await outbox.sender.operations.resumeEndpoint('m');
    expect(await sweep()).toEqual(Array.from({ length: 10 }, () => 'gave-up-by-age'));

    await outbox.query("update outbox set round_at = round_at - interval '31 days'");
    expect(await sweep()).toEqual(['never-attempted']);
  });

  test('the sweep ends nothing for the time that a parked endpoint was held (R181)', async () => {
    await using outbox = await freshOutbox(open, once);
    await using merchant = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await park(outbox, 'm');
    await enqueue(outbox, 'm', 1, 100);
    await outbox.sender.operations.holdEndpoint('m');
    await outbox.age({ byMs: 40 * 24 * 3_600_000 });
    await outbox.sender.operations.resumeEndpoint('m');
    const database = openDatabase(outbox.database, {});
    const { swept } = await sweepOverAge(database, { schema: outbox.schema, defaultPolicy: 'alipay', after: '0' });
    await database.close();
    expect(swept).toEqual([]);
  });

  test('a pass ends what is over age on a parked endpoint, for where no worker is resident', async () => {
    await using outbox = await freshOutbox(open, {
      policies: { short: { gapsMs: [3_600_000, 3_600_000] } },
      policy: 'short',
    });
    await using merchant = await scriptedEndpoint(500);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    const dead: string[] = [];
    outbox.sender.on('dead', ({ reason }) => dead.push(reason));
    await park(outbox, 'm');
    await outbox.query("update outbox set first_attempt_at = first_attempt_at - interval '5 hours'");

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0, dead: 10 });

    expect(dead).toEqual(Array.from({ length: 10 }, () => 'gave-up-by-age'));
  });

  test('an outage of ours that never ends gives a row up after 30 days, attempted before or not', async () => {
    await using outbox = await freshOutbox(open, once);
    await using closed = await scriptedEndpoint(200);
    await closed.goDown();
    const endpoints = Array.from({ length: 9 }, (_, n) => `m${n}`);
    for (const id of endpoints) {
      await outbox.putEndpoint({ id, url: closed.url });
      await enqueue(outbox, id, 1);
    }
    await outbox.query(
      'update outbox set attempts = 1, first_attempt_at = now() where number = (select min(number) from outbox)',
    );
    await outbox.age({ byMs: 29 * 24 * 3_600_000 });
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 9, retrying: 9 });
    await outbox.age({ byMs: 2 * 24 * 3_600_000 });
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 9, dead: 9 });
    const { items } = await outbox.sender.operations.list();
    expect(items.map(({ reason }) => reason).sort()).toEqual([
      'gave-up-by-age',
      ...Array.from({ length: 8 }, () => 'never-attempted'),
    ]);
  });
});
