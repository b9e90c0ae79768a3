import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };
const day = 24 * 60 * 60 * 1000;
const conflict = { status: 422, headers: { 'bestnotify-reason': 'payload-conflict' } };

describe.each(databases)('a notification on $name', ({ open }) => {
  const opened = async (url: string, given: Parameters<Outbox['putEndpoint']>[0] = { id: 'merchant-42' }) => {
    const outbox = await freshOutbox(open);
    const secret = await outbox.putEndpoint({ policy: 'article', ...given, url });
    const { id } = await outbox.sender.notify(event);
    return { ...outbox, id, secret, show: () => outbox.sender.operations.show(id) };
  };

  test('whose payload conflicts with one the merchant knows is dead at once', async () => {
    await using endpoint = await scriptedEndpoint(conflict);
    await using outbox = await opened(endpoint.url);

    expect(await outbox.sender.runOnce()).toMatchObject({ dead: 1 });
    expect(await outbox.show()).toMatchObject({ state: 'dead', reason: 'payload-conflict', attempts: 1 });
  });

  test.each([
    ['a 422 without our reason', { status: 422 }],
    ['our reason under another status', { ...conflict, status: 400 }],
    ['our reason under a 200 that says fail', { ...conflict, status: 200, body: 'fail' }],
  ])("%s comes from somebody else's program, and is tried again", async (_what, reply) => {
    await using endpoint = await scriptedEndpoint(reply, 200);
    await using outbox = await opened(endpoint.url);

    await outbox.sender.runOnce();
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    expect(await outbox.show()).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  test.each(['handled', 'duplicate', 'stale', 'ignored'])(
    'that was %s is delivered for that reason',
    async (reason) => {
      await using endpoint = await scriptedEndpoint({ headers: { 'bestnotify-reason': reason } });
      await using outbox = await opened(endpoint.url);

      await outbox.sender.runOnce();

      expect(await outbox.show()).toMatchObject({ state: 'delivered', reason });
    },
  );

  test('whose own URL is gone is dead; one 410 from the endpoint is only a failure (R143)', async () => {
    await using endpoint = await scriptedEndpoint(410);
    await using outbox = await opened(endpoint.url);
    const own = await outbox.sender.notify({ ...event, bizId: 'PAY2', url: `${endpoint.url}/own` });

    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(own.id)).toMatchObject({ state: 'dead', reason: 'gone', attempts: 1 });
    expect(await outbox.show()).toMatchObject({ state: 'pending', attempts: 1 });
  });

  test('whose endpoint was removed is dead with that reason, and the others are delivered (R143, R178)', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    await outbox.putEndpoint({ id: 'merchant-43', url: endpoint.url });
    const other = await outbox.sender.notify({ ...event, endpoint: 'merchant-43' });
    await outbox.sender.endpoints.remove('merchant-42');

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 2, delivered: 1, dead: 1 });

    expect(await outbox.show()).toMatchObject({
      state: 'dead',
      reason: 'endpoint-removed',
      attempts: 0,
      attemptLog: [],
    });
    expect(await outbox.sender.operations.show(other.id)).toMatchObject({ state: 'delivered' });
    await expect(outbox.sender.operations.resend(outbox.id)).rejects.toMatchObject({ code: 'SENDER_UNKNOWN_ENDPOINT' });
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    await outbox.sender.operations.resend(outbox.id);
    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'delivered', round: 2 });
  });

  test("whose endpoint's secret cannot be read waits uncharged until that is mended (R178, R194)", async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    const errors: string[] = [];
    outbox.sender.on('error', ({ during }) => errors.push(during));
    await outbox.query(`update endpoint_secret set secret = 'whsec_!!!!'`);

    for (const waitMs of [10_000, 20_000, 40_000]) {
      expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, retrying: 1, dead: 0 });
      const dueInMs = await outbox.dueInMs();
      expect(dueInMs).toBeGreaterThan(waitMs - 5_000);
      expect(dueInMs).toBeLessThanOrEqual(waitMs);
      await outbox.age({ byMs: waitMs });
    }

    const { attempts, attemptLog } = await outbox.show();
    expect(attempts).toBe(0);
    expect(attemptLog).toHaveLength(3);
    for (const attempt of attemptLog)
      expect(attempt).toMatchObject({ ordinal: null, outcome: 'internal', because: 'internal' });
    expect(errors.length).toBeGreaterThanOrEqual(3);
    expect(endpoint.requests).toEqual([]);
    await outbox.sender.endpoints.put({
      ...{ id: 'merchant-42', url: endpoint.url, secrets: [outbox.secret], allowHttp: true, allowPrivateNetwork: true },
    });
    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'delivered', attempts: 1 });
  });

  test('to a private address that is not allowed reaches nobody, says which option to change, and follows the schedule (R125)', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    const forbidden = outbox.putEndpoint({ id: 'merchant-43', url: endpoint.url, allowPrivateNetwork: false });
    await expect(forbidden).rejects.toMatchObject({ code: 'SENDER_ENDPOINT_URL', problem: 'forbidden-address' });
    await outbox.query(`update endpoint set allow_private_network = '{}'`); // as of a name that resolves to it now
    const refused: string[] = [];
    outbox.sender.on('refused', ({ because }) => refused.push(because));

    await outbox.sender.runOnce();
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    const { attemptLog, attempts, state } = await outbox.show();
    expect({ attempts, state }).toEqual({ attempts: 2, state: 'pending' });
    expect(attemptLog[0]).toMatchObject({ outcome: 'not-sent', because: 'forbidden-address' });
    expect(attemptLog[0]?.error).toMatch(/127\.0\.0\.1.*loopback/);
    expect(refused).toEqual(['forbidden-address']); // told once, not with each attempt
    expect(endpoint.connections).toBe(0);
  });

  test('that may have arrived over 6 days ago is not repeated by itself; one that cannot have is', async () => {
    await using endpoint = await scriptedEndpoint(200);
    for (const [firstClaimedDaysAgo, mayHaveArrived, end] of [
      [6.01, true, 'outlived-retention'],
      [5.99, true, 'acknowledged'],
      [29, false, 'acknowledged'],
    ] as const) {
      await using outbox = await opened(endpoint.url);
      await outbox.query(
        `update outbox set first_claimed_at = now() - interval '1 day' * ${firstClaimedDaysAgo}, may_have_arrived = ${mayHaveArrived}`,
      );
      await outbox.sender.runOnce();
      expect(await outbox.show()).toMatchObject({ reason: end });
    }
    expect(endpoint.requests).toHaveLength(2);
  });

  test.each([
    { what: 'that certainly never arrived', mayHaveArrived: false, accepted: false },
    { what: 'that may have arrived, with a second effect accepted,', mayHaveArrived: true, accepted: true },
  ])('$what and is resent after weeks has its whole round, whatever its attempts come to', async (given) => {
    await using endpoint = await scriptedEndpoint((_request, response) => {
      response.destroy();
    }); // no answer
    await using outbox = await opened(endpoint.url);
    const { operations } = outbox.sender;
    await outbox.query(
      `update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up', may_have_arrived = ${given.mayHaveArrived},
              first_claimed_at = now() - interval '21 days'`,
    );

    if (given.accepted) {
      await operations.resend(outbox.id, { acceptDuplicateEffect: true });
    } else {
      await operations.resendMany({ state: 'dead' });
    }
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      await outbox.age({ byMs: Math.max(0, await outbox.dueInMs()) + 1 });
      await outbox.sender.runOnce();
      expect(endpoint.requests).toHaveLength(attempt);
    }

    expect(await outbox.show()).toMatchObject({ state: 'dead', reason: 'attempts-used-up', attempts: 5 });
    // It may have arrived by now, though not weeks ago.
    await operations.resend(outbox.id, given.accepted ? { acceptDuplicateEffect: true } : {});
  });

  test('that could never be attempted ends 30 days after it was enqueued, and not before', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    await outbox.query(`update endpoint_secret set secret = 'whsec_!!!!'`);

    await outbox.sender.runOnce();
    await outbox.age({ byMs: 29.9 * day });
    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'pending', attempts: 0 });
    await outbox.age({ byMs: 0.2 * day });
    await outbox.sender.runOnce();

    expect(await outbox.show()).toMatchObject({ state: 'dead', reason: 'never-attempted', attempts: 0 });
  });

  test('whose endpoint was held for weeks is not over: the time of the hold does not count (R181)', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    const { operations } = outbox.sender;
    await operations.holdEndpoint('merchant-42');
    await outbox.age({ byMs: 40 * day });
    await operations.resumeEndpoint('merchant-42');
    const [secret] = await outbox.query<{ secret: string }>('select secret from endpoint_secret');
    await outbox.query(`update endpoint_secret set secret = 'whsec_!!!!'`);
    await outbox.query('update endpoint set updated_at = now()');

    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'pending', attempts: 0 });

    await outbox.query('update endpoint_secret set secret = $1', [secret?.secret]);
    await outbox.age({ byMs: 60_000 });
    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'delivered', attempts: 1 });
  });

  test('whose endpoint was held before it was enqueued has its 30 days, and no more', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    const { operations } = outbox.sender;
    await operations.holdEndpoint('merchant-42');
    await outbox.age({ byMs: 40 * day });
    const { id } = await outbox.show();
    await operations.cancel(id);
    await operations.resend(id);
    await operations.resumeEndpoint('merchant-42');
    await outbox.query(`update endpoint_secret set secret = 'whsec_!!!!'`);

    await outbox.age({ byMs: 30.1 * day });
    await outbox.sender.runOnce();

    expect(await outbox.show()).toMatchObject({ state: 'dead', reason: 'never-attempted' });
  });

  test('that waited for weeks because no worker ran is still sent', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    await outbox.age({ byMs: 60 * day });

    await outbox.sender.runOnce();

    expect(await outbox.show()).toMatchObject({ state: 'delivered', attempts: 1 });
  });

  test('whose body was erased ends without a request', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    await outbox.query('update notification set body = null');

    await outbox.sender.runOnce();

    expect(await outbox.show()).toMatchObject({ state: 'dead', reason: 'body-erased', body: null });
    await expect(outbox.sender.operations.resend(outbox.id)).rejects.toMatchObject({
      code: 'SENDER_UNKNOWN_NOTIFICATION',
    });
    expect(endpoint.requests).toEqual([]);
  });

  test('whose policy nobody can read any more follows the default one', async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using outbox = await opened(endpoint.url);
    await outbox.query(`update notification set policy = 'of a newer release'`);

    await outbox.sender.runOnce();

    expect(await outbox.dueInMs()).toBeGreaterThan(230_000); // the first gap of alipay is 4 min
  });
});
