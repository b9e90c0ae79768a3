import { verifyNotification, parseVerifyingKey } from '@bestnotify/protocol';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import { describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { alertIn, alertsAt, alertsTo, once, openWindows, opsSecret, scene, webhook } from './alerts-fixtures.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

describe.each(databases)('alerts on $name', ({ name, open }) => {
  const many = name === 'PostgreSQL' ? 10_000 : 500;

  test(
    `an outage that kills ${many} notifications gives two alerts; both name the endpoint, the count and the first reason`,
    { timeout: 120_000 },
    async () => {
      await using it = await scene(open);
      await it.kill(many);
      const worker = it.outbox.sender.startWorker({ maxInFlightPerEndpoint: 64, minPollMs: 5 });

      await awaitUntil(
        'all are dead',
        async () => (await it.outbox.sender.operations.stats()).dead === Math.min(many, 10_000),
        {
          timeoutMs: 90_000,
          everyMs: 100,
        },
      );
      await it.ops.received(1);
      await awaitUntil('the rest has gathered', async () => {
        const [row] = await it.outbox.query<{ count: number }>(
          `select coalesce(sum((pending::jsonb->>'count')::int), 0)::int as count from alert_digest`,
        );
        return row!.count + alertIn(it.ops.requests[0]!).count === many;
      });
      expect(it.ops.requests).toHaveLength(1);
      await openWindows(it.outbox);
      await it.ops.received(2);
      await worker.stop();

      const alerts = alertsAt(it.ops);
      expect(alerts).toHaveLength(2);
      expect(alerts[0]!.count + alerts[1]!.count).toBe(many);
      for (const alert of alerts) {
        expect(alert).toMatchObject({
          ...{ kind: 'dead', source: 'acme-pay', endpoints: 1 },
          entries: [
            { endpoint: 'merchant-42', count: alert.count, reason: 'attempts-used-up', lastAttempt: 'status-404' },
          ],
        });
      }
      expect(alerts[0]).toMatchObject({ gatheredForMs: 600_000 });
      expect(alerts[1]).toMatchObject({ gatheredForMs: 1_200_000 });
    },
  );

  test('an alert is signed as any other notification, for the platform and the channel it names', async () => {
    await using it = await scene(open);
    await it.kill(1);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();

    const [request] = it.ops.requests;
    expect(() =>
      verifyNotification({ headers: request!.headers, body: request!.body, keys: [parseVerifyingKey(opsSecret)] }),
    ).not.toThrow();
    expect(JSON.parse(request!.body.toString())).toMatchObject({
      source: 'acme-pay',
      to: 'ops',
      type: 'bestnotify.alert',
      subject: 'dead',
    });
    expect(Object.keys(request!.headers)).not.toContain(':bestnotify-channel');
    expect(alertIn(request!).entries[0]).toMatchObject({ notification: { type: 'payment.success', bizId: 'PAY0' } });
  });

  test('many endpoints that die together share one alert, and the first of them is named first', async () => {
    await using it = await scene(open);
    for (let index = 0; index < 15; index += 1) {
      await it.outbox.putEndpoint({ id: `m${index}`, url: it.merchant.url });
      await it.kill(2, { endpoint: `m${index}` });
    }
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();

    expect(alertsAt(it.ops)).toMatchObject([{ kind: 'dead', count: 30, endpoints: 15 }]);
    expect(alertsAt(it.ops)[0]!.entries.every(({ count }) => count === 2)).toBe(true);
  });

  test('the alert arrives although the first channel is down, and that channel gets it once it is up again', async () => {
    await using down = await scriptedEndpoint(200);
    await using up = await scriptedEndpoint(200);
    await using merchant = await scriptedEndpoint(404);
    await down.goDown();
    await using outbox = await freshOutbox(open, alertsTo({ first: webhook(down.url), second: webhook(up.url) }));
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await outbox.sender.notify({ endpoint: 'm', ...paid, ...once });
    await outbox.sender.runOnce();
    await outbox.sender.runOnce();

    expect(alertsAt(up)).toMatchObject([{ kind: 'dead', count: 1 }]);
    await down.comeUp();
    await outbox.age({ byMs: 60_000 });
    await outbox.sender.runOnce();
    expect(alertsAt(down)).toEqual(alertsAt(up));
  });

  test('a channel that fails for ever raises no alert about itself: neither for its dead nor for its being parked', async () => {
    await using it = await scene(open, { policy: { gapsMs: [1] } });
    it.ops.script(500);
    for (let round = 0; round < 8; round += 1) {
      await it.kill(1, { from: round });
      await it.outbox.sender.runOnce();
      await openWindows(it.outbox);
      await it.outbox.age({ byMs: 3_600_000 });
    }
    await it.outbox.sender.runOnce();

    const rows = await it.outbox.query<{ source: string; subject: string; state: number; count: number }>(
      `select n.source, n.subject, o.state::int, count(*)::int as count from notification n join outbox o using (number)
        where n.type = 'bestnotify.alert' group by 1, 2, 3`,
    );
    expect(rows.every(({ source, subject }) => source === 'bestnotify-alerts:acme-pay' && subject === 'dead')).toBe(
      true,
    );
    expect(rows.some(({ state }) => state === 2)).toBe(true);
    expect(await it.outbox.query('select 1 from endpoint_health where parked_until is not null')).toHaveLength(1);
    expect(rows.reduce((sum, { count }) => sum + count, 0)).toBeLessThanOrEqual(9);
  });

  test('a type that is abandoned raises none, while another one at the same endpoint does', async () => {
    await using it = await scene(open, {}, { types: { 'points.changed': { giveUp: 'abandon' } } });
    await it.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, ...once, type: 'points.changed' });
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(it.ops.requests).toHaveLength(0);
    expect((await it.outbox.sender.operations.list()).items).toMatchObject([{ state: 'dead' }]);

    await it.kill(1);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(alertsAt(it.ops)).toMatchObject([{ count: 1, entries: [{ notification: { type: 'payment.success' } }] }]);
  });

  test('a notification that is resent and dies again is news again; without a resend it is told once', async () => {
    await using it = await scene(open);
    await it.kill(1);
    await it.outbox.sender.runOnce();
    await openWindows(it.outbox);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(it.ops.requests).toHaveLength(1);

    const { items } = await it.outbox.sender.operations.list();
    await it.outbox.sender.operations.resend(items[0]!.id);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(alertsAt(it.ops)).toMatchObject([{ count: 1 }, { count: 1 }]);
  });

  test('what died over a day ago is nobody’s news when alerts are switched on', async () => {
    await using it = await scene(open);
    const silent = it.outbox.another({ alerts: undefined as never });
    await it.kill(1);
    await silent.runOnce();
    await it.outbox.age({ byMs: 25 * 3_600_000 });
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(it.ops.requests).toHaveLength(0);
  });

  test('a parked endpoint is told once while it stays parked, and again when it is parked anew', async () => {
    await using it = await scene(open, { kinds: ['parked'] });
    it.merchant.script(500);
    const park = async (from: number) => {
      await it.kill(10, { from });
      await it.outbox.sender.runOnce({ maxInFlightPerEndpoint: 10 });
      await openWindows(it.outbox);
      await it.outbox.sender.runOnce();
    };
    await park(0);
    await it.outbox.sender.runOnce();
    expect(alertsAt(it.ops)).toMatchObject([
      { kind: 'parked', endpoints: 1, entries: [{ endpoint: 'merchant-42', count: 10, reason: 'status-500' }] },
    ]);

    await it.outbox.query('update endpoint_health set parked_until = null, failures = 0');
    await it.outbox.sender.runOnce();
    await park(100);
    await it.outbox.sender.runOnce();
    expect(it.ops.requests).toHaveLength(2);
  });

  test('an endpoint that is gone is told as disabled', async () => {
    await using it = await scene(open, { kinds: ['disabled'] });
    it.merchant.script(410);
    await it.kill(2);
    await it.outbox.sender.runOnce({ maxInFlightPerEndpoint: 1 });
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(alertsAt(it.ops)).toMatchObject([
      { kind: 'disabled', endpoints: 1, entries: [{ endpoint: 'merchant-42', reason: 'gone' }] },
    ]);
  });

  test('refusals by the receiver are told with their reason', async () => {
    await using it = await scene(open, { kinds: ['refused'] });
    it.merchant.script({ status: 401, headers: { 'bestnotify-reason': 'invalid-signature' } });
    await it.kill(3);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(alertsAt(it.ops)).toMatchObject([
      { kind: 'refused', count: 3, entries: [{ endpoint: 'merchant-42', count: 3, reason: 'invalid-signature' }] },
    ]);
  });

  test('a notification that loses its claims again and again is told before it is given up', async () => {
    await using it = await scene(open, { kinds: ['claims-lost'] });
    await it.kill(1);
    await it.outbox.query('update outbox set lost_claims = 19');
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(it.ops.requests).toHaveLength(0);

    await it.kill(1, { from: 1 });
    await it.outbox.query('update outbox set lost_claims = 20 where state = 0');
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(alertsAt(it.ops)).toMatchObject([
      { kind: 'claims-lost', count: 1, entries: [{ endpoint: 'merchant-42', notification: { bizId: 'PAY1' } }] },
    ]);
  });

  test('when hardly any endpoint can be reached one alert says that the fault is here', async () => {
    await using it = await scene(open, { kinds: ['suspended', 'parked', 'dead'] });
    await it.merchant.goDown();
    for (let index = 0; index < 10; index += 1) {
      await it.outbox.putEndpoint({ id: `m${index}`, url: it.merchant.url });
      await it.kill(2, { endpoint: `m${index}` });
    }
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    await awaitUntil('it is told', async () => {
      await it.outbox.sender.runOnce();
      return it.ops.requests.length > 0;
    });
    expect(alertsAt(it.ops)).toMatchObject([
      { kind: 'suspended', entries: [{ endpoint: null, reason: 'unreachable' }] },
    ]);
  });

  test('what is overdue is told, unless its endpoint is held', async () => {
    await using it = await scene(open, { kinds: ['overdue'], overdueMs: 60_000 });
    await it.outbox.putEndpoint({ id: 'held', url: it.merchant.url });
    await it.kill(2, { endpoint: 'held' });
    await it.outbox.sender.operations.holdEndpoint('held');
    await it.kill(2);
    await it.outbox.query(`update outbox set due_at = now() - interval '59 seconds'`);
    await it.outbox.sender.runOnce({ limit: 1 });
    await it.outbox.sender.runOnce({ limit: 1 });
    expect(it.ops.requests).toHaveLength(0);

    await it.kill(2, { from: 10 });
    await it.outbox.query(`update outbox set due_at = now() - interval '61 seconds' where state = 0`);
    await it.outbox.query(`update endpoint set max_in_flight = 1`);
    await it.outbox.sender.runOnce({ limit: 1 });
    await it.outbox.sender.runOnce();
    expect(alertsAt(it.ops)).toMatchObject([
      { kind: 'overdue', count: 1, endpoints: 1, entries: [{ endpoint: 'merchant-42', reason: 'overdue' }] },
    ]);
  });

  test('two senders that look at once tell it once', async () => {
    await using it = await scene(open);
    await it.kill(20);
    const other = it.outbox.another();
    const workers = [it.outbox.sender, other].map((sender) => sender.startWorker({ minPollMs: 5 }));
    await it.ops.received(1);
    await awaitUntil('all are dead', async () => (await other.operations.stats()).dead === 20);
    await awaitUntil('each is told or waits to be', async () => {
      const [row] = await it.outbox.query<{ count: number }>(
        `select coalesce(sum((pending::jsonb->>'count')::int), 0)::int as count from alert_digest`,
      );
      return row!.count + alertsAt(it.ops).reduce((sum, { count }) => sum + count, 0) === 20;
    });
    await Promise.all(workers.map((worker) => worker.stop()));
    expect(it.ops.requests).toHaveLength(1);
  });

  test('a worker that dies between the dead letter and its alert loses no alert: the next one finds it', async () => {
    await using it = await scene(open);
    await it.kill(3);
    // A worker without alerts leaves the outbox exactly as one that was killed right after it settled.
    await it.outbox.another({ alerts: undefined as never }).runOnce();
    expect(it.ops.requests).toHaveLength(0);

    await it.outbox.another().runOnce();
    await it.outbox.another().runOnce();
    expect(alertsAt(it.ops)).toMatchObject([{ kind: 'dead', count: 3, entries: [{ endpoint: 'merchant-42' }] }]);
  });

  test('an alert that cannot be written leaves the dead untold, so that the next look finds them', async () => {
    await using it = await scene(open);
    await it.outbox.query('alter table alert_digest add constraint away check (pending is null)');
    const errors: string[] = [];
    it.outbox.sender.on('error', ({ during }) => errors.push(during));
    it.merchant.script({ status: 401, headers: { 'bestnotify-reason': 'invalid-signature' } });
    await it.kill(1);
    await it.outbox.sender.runOnce();
    expect(errors).toEqual(['alerts']);

    await it.outbox.query('alter table alert_digest drop constraint away');
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(
      alertsAt(it.ops)
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['dead', 'refused']);
  });

  test('a merchant’s own contact is told of its own dead and of nobody else’s', async () => {
    await using it = await scene(open);
    await using theirs = await scriptedEndpoint(200);
    await using merchant = await scriptedEndpoint(404);
    await it.outbox.sender.endpoints.put({
      ...{ id: 'merchant-7', url: merchant.url, secrets: [opsSecret], allowHttp: true, allowPrivateNetwork: true },
      contact: webhook(theirs.url),
    });
    await it.kill(3, { endpoint: 'merchant-7' });
    await it.kill(5);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();

    expect(alertsAt(theirs)).toMatchObject([
      { kind: 'dead', count: 3, endpoints: 1, entries: [{ endpoint: 'merchant-7' }] },
    ]);
    expect(JSON.parse(theirs.requests[0]!.body.toString())).toMatchObject({ source: 'acme-pay', to: 'merchant-7' });
    expect(alertsAt(it.ops)).toMatchObject([{ kind: 'dead', count: 8, endpoints: 2 }]);

    await it.outbox.sender.endpoints.put({
      id: 'merchant-7',
      url: merchant.url,
      allowHttp: true,
      allowPrivateNetwork: true,
      contact: null,
    });
    await it.kill(1, { endpoint: 'merchant-7', from: 10 });
    await openWindows(it.outbox);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();
    expect(theirs.requests).toHaveLength(1);
    expect(it.ops.requests).toHaveLength(2);
  });

  test('alerts are in nobody’s lists; their own source shows them, and cannot be written to', async () => {
    await using it = await scene(open);
    await it.kill(1);
    await it.outbox.sender.runOnce();
    await it.outbox.sender.runOnce();

    expect((await it.outbox.sender.operations.list()).items).toMatchObject([{ type: 'payment.success' }]);
    expect((await it.outbox.sender.endpoints.list()).map(({ id }) => id)).toEqual(['merchant-42']);
    const alerts = it.outbox.another({ source: 'bestnotify-alerts:acme-pay', alerts: undefined as never });
    expect((await alerts.operations.list()).items).toMatchObject([
      { type: 'bestnotify.alert', endpoint: 'ops', state: 'delivered' },
    ]);
    await expect(alerts.notify({ endpoint: 'ops', ...paid })).rejects.toMatchObject({
      code: 'SENDER_CONFIGURATION',
      option: 'source',
    });
    await expect(alerts.endpoints.put({ id: 'ops', url: 'https://evil.example/' })).rejects.toMatchObject({
      option: 'source',
    });
  });
});
