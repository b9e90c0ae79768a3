import type { EventName } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid, subject: 'ORDER7' };

/** Collects what is told, by name. */
function collect(outbox: Outbox, ...names: EventName[]): [name: EventName, facts: Record<string, unknown>][] {
  const told: [EventName, Record<string, unknown>][] = [];
  for (const name of names) outbox.sender.on(name, (facts) => told.push([name, { ...facts }]));
  return told;
}

describe.each(databases)('events on $name', ({ open }) => {
  test('tell each attempt and the end, after they were written down, with facts and no content', async () => {
    await using endpoint = await scriptedEndpoint({ status: 500, body: 'secret of the merchant' }, 200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: `${endpoint.url}?token=of-the-merchant`, policy: 'article' });
    const { id } = await outbox.sender.notify({ ...event, data: { amount: 'secret of the payment' } });
    const told = collect(outbox, 'attempt', 'delivered', 'dead', 'error');
    const seen: Promise<number>[] = [];
    outbox.sender.on('attempt', () =>
      seen.push(outbox.sender.operations.show(id).then((row) => row.attemptLog.length)),
    );

    await outbox.sender.runOnce();
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    const facts = {
      id,
      source: 'acme-pay',
      endpoint: 'merchant-42',
      type: paid.type,
      bizId: 'PAY1',
      subject: 'ORDER7',
      round: 1,
    };
    expect(told).toMatchObject([
      ['attempt', { ...facts, ordinal: 1, outcome: 'refused', status: 500, because: 'status-500', error: null }],
      [
        'attempt',
        { ...facts, ordinal: 2, outcome: 'acknowledged', status: 200, because: 'acknowledged', nextInMs: null },
      ],
      ['delivered', { ...facts, reason: 'acknowledged', attempts: 2 }],
    ]);
    const [, first] = told[0] ?? expect.fail();
    expect(first['nextInMs']).toBeGreaterThanOrEqual(10_000);
    expect(first['nextInMs']).toBeLessThanOrEqual(11_000);
    expect(JSON.stringify(told)).not.toMatch(/secret of|of-the-merchant/);
    expect(await Promise.all(seen)).toEqual([expect.any(Number), 2]); // the second attempt was there when it was told
    expect((await seen[0]) ?? 0).toBeGreaterThanOrEqual(1);
  });

  test('tell a person of each refusal that points to a wrong key or set-up', async () => {
    const refusal = (status: number, reason: string) => ({ status, headers: { 'bestnotify-reason': reason } });
    await using endpoint = await scriptedEndpoint(
      refusal(401, 'wrong-audience'),
      refusal(401, 'wrong-audience'),
      500,
      200,
    );
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, policy: 'article' });
    await outbox.sender.notify(event);
    const told = collect(outbox, 'refused');

    for (let pass = 0; pass < 4; pass += 1) {
      await outbox.sender.runOnce();
      await outbox.age({ byMs: 15 * 60_000 });
    }

    expect(told.map(([, facts]) => facts['because'])).toEqual(['wrong-audience', 'wrong-audience']);
  });

  test('a listener that throws hurts neither the delivery nor the other listeners', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    await outbox.sender.notifyMany(['PAY1', 'PAY2', 'PAY3'].map((bizId) => ({ ...event, bizId })));
    const broken = () => {
      throw new Error('broken listener');
    };
    outbox.sender.on('attempt', broken).on('delivered', broken);
    const told = collect(outbox, 'delivered', 'error');

    expect(await outbox.sender.runOnce()).toMatchObject({ delivered: 3, lost: 0 });

    expect(told.filter(([name]) => name === 'delivered')).toHaveLength(3);
    expect(told.filter(([name]) => name === 'error')).toHaveLength(6);
    expect(told.find(([name]) => name === 'error')).toMatchObject(['error', { during: 'listener of attempt' }]);
    expect((await outbox.sender.operations.list({ state: 'delivered' })).items).toHaveLength(3);
  });

  test('an async listener that rejects ends no process', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    await outbox.sender.notify(event);
    const unhandled: unknown[] = [];
    const collectUnhandled = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', collectUnhandled);
    // eslint-disable-next-line @typescript-eslint/no-misused-promises -- what a platform without this rule writes
    outbox.sender.on('delivered', () => Promise.reject(new Error('the alert could not be sent')));
    const told = collect(outbox, 'error');

    await outbox.sender.runOnce();
    await new Promise((resolve) => setImmediate(resolve)); // rejections are reported in the next turn
    process.off('unhandledRejection', collectUnhandled);

    expect(unhandled).toEqual([]);
    expect(told).toMatchObject([['error', { during: 'listener of delivered' }]]);
  });

  test('a broken listener of error itself, or none at all, stops nothing', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const { id } = await outbox.sender.notify(event);
    await outbox.query(`update endpoint_secret set secret = 'whsec_!!!!'`);
    const warnings: string[] = [];
    const collectWarning = (warning: Error) => warnings.push(warning.message);
    process.on('warning', collectWarning);

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1 }); // nobody listens
    outbox.sender.on('error', () => {
      throw new Error('broken listener of error');
    });
    await outbox.sender.operations.sendNow(id);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1 });

    await new Promise((resolve) => setImmediate(resolve)); // warnings are emitted in the next tick
    process.off('warning', collectWarning);
    expect(warnings).toContain('broken listener of error');
  });

  test('a listener that was taken off is told nothing more', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const told: string[] = [];
    const listener = ({ bizId }: { bizId: string }) => told.push(bizId);
    outbox.sender.on('delivered', listener);
    await outbox.sender.notify(event);
    await outbox.sender.runOnce();

    outbox.sender.off('delivered', listener);
    await outbox.sender.notify({ ...event, bizId: 'PAY2' });
    await outbox.sender.runOnce();

    expect(told).toEqual(['PAY1']);
  });

  test('a worker that lost its claim says so, and its result is not written (R148)', async () => {
    await using outbox = await freshOutbox(open);
    await using endpoint = await scriptedEndpoint(async (_request, response) => {
      // The lease runs out while the merchant works, and another worker takes over.
      await outbox.query(`update outbox set claim_token = gen_random_uuid()`);
      response.end('success');
    });
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const { id } = await outbox.sender.notify(event);
    const told = collect(outbox, 'claimLost', 'delivered', 'attempt');

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, delivered: 0, lost: 1 });

    expect(told.map(([name, facts]) => [name, facts['id']])).toEqual([['claimLost', id]]);
    expect(await outbox.sender.operations.show(id)).toMatchObject({
      state: 'pending',
      isClaimed: true,
      attemptLog: [],
    });
  });
});
