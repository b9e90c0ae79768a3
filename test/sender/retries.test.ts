import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { hang, reset, scriptedEndpoint, type Step } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe.each(databases)('after a failure on $name', ({ open }) => {
  const failing = async (url: string, given: Parameters<Outbox['putEndpoint']>[0] = { id: 'merchant-42' }) => {
    const outbox = await freshOutbox(open);
    await outbox.putEndpoint({ ...given, url });
    const { id } = await outbox.sender.notify(event);
    return { outbox, id, [Symbol.asyncDispose]: () => outbox[Symbol.asyncDispose]() };
  };

  test('the gaps grow as the policy says, a little later but never earlier, and then it is over (R136, R142)', async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article' });
    const { outbox, id } = started;

    for (const gapMs of [10 * second, minute, 10 * minute, hour]) {
      expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, retrying: 1 });
      const dueInMs = await outbox.dueInMs();
      expect(dueInMs).toBeGreaterThan(gapMs - 5 * second);
      expect(dueInMs).toBeLessThanOrEqual(gapMs * 1.1 + 1);
      expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
      await outbox.age({ byMs: dueInMs + 1 });
    }
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, dead: 1 });

    expect(await outbox.sender.operations.show(id)).toMatchObject({
      state: 'dead',
      reason: 'attempts-used-up',
      attempts: 5,
    });
    await outbox.age({ byMs: day });
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
    expect(endpoint.requests).toHaveLength(5);
  });

  test.each<[what: string, step: Step, because: string, outcome: string]>([
    ['a refusal', { status: 403 }, 'status-403', 'refused'],
    ['a wrong word', 'fail', 'wrong-reply', 'refused'],
    [
      'a redirect, which is not followed (R091)',
      { status: 301, headers: { location: '/elsewhere' }, body: 'success' },
      'redirect',
      'refused',
    ],
    ['a 204 (R103)', { status: 204, body: '' }, 'wrong-reply', 'refused'],
    ['a reset after the request (R109)', reset, 'no-answer', 'no-answer'],
    ['no answer in time (R097, R106)', hang, 'no-answer', 'no-answer'],
  ])('%s is one attempt of three, and three end it (R137)', async (_what, step, because, outcome) => {
    await using endpoint = await scriptedEndpoint(step);
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article', maxAttempts: 3 });
    const { outbox, id } = started;

    for (let pass = 0; pass < 6; pass += 1) {
      await outbox.sender.runOnce({ requestTimeoutMs: 300 });
      await outbox.age({ byMs: 2 * minute });
    }

    const { attemptLog, ...row } = await outbox.sender.operations.show(id);
    expect(row).toMatchObject({ state: 'dead', reason: 'attempts-used-up', attempts: 3 });
    expect(attemptLog.map((attempt) => [attempt.ordinal, attempt.because, attempt.outcome])).toEqual(
      [1, 2, 3].map((ordinal) => [ordinal, because, outcome]),
    );
    expect(endpoint.requests).toHaveLength(3); // every request on the wire is a row, and every row a request
  });

  test('an endpoint that cannot be connected to is tried again, and delivered to once it is up (R140)', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await endpoint.goDown();
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article' });
    const { outbox, id } = started;

    await outbox.sender.runOnce();
    const { attemptLog } = await outbox.sender.operations.show(id);
    expect(attemptLog).toMatchObject([{ ordinal: 1, outcome: 'not-sent', because: 'connect', status: null }]);
    await endpoint.comeUp();
    await outbox.age({ byMs: 11 * second });
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  test('with a single attempt it is over at once, and said once (R139)', async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using started = await failing(endpoint.url, { id: 'merchant-42', maxAttempts: 1 });
    const { outbox, id } = started;
    const told: string[] = [];
    outbox.sender.on('dead', (dead) => told.push(`${dead.id} ${dead.reason} ${dead.attempts}`));

    await outbox.sender.runOnce();
    await outbox.age({ byMs: day });
    await outbox.sender.runOnce();

    expect(told).toEqual([`${id} attempts-used-up 1`]);
    expect(endpoint.requests).toHaveLength(1);
  });

  test("the notification's own limit and policy win over the endpoint's", async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, policy: 'article', maxAttempts: 9 });
    const { id } = await outbox.sender.notify({ ...event, policy: { gapsMs: [5 * hour] }, maxAttempts: 2 });

    await outbox.sender.runOnce();
    expect(await outbox.dueInMs()).toBeGreaterThan(5 * hour - 10 * second);
    await outbox.age({ byMs: 5.5 * hour });
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({
      state: 'dead',
      reason: 'attempts-used-up',
      attempts: 2,
    });
  });

  test('a changed policy of the endpoint counts from the next failure on', async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article' });
    const { outbox } = started;
    await outbox.sender.runOnce();
    expect(await outbox.dueInMs()).toBeLessThanOrEqual(11 * second);

    await outbox.sender.endpoints.put({
      ...{ id: 'merchant-42', url: endpoint.url, policy: 'alipay', allowHttp: true, allowPrivateNetwork: true },
    });
    await outbox.age({ byMs: 11 * second });
    await outbox.sender.runOnce();

    expect(await outbox.dueInMs()).toBeGreaterThan(9 * minute); // gap 2 of alipay is 10 min
  });

  test.each([
    [503, '120', 120 * second],
    [429, '90', 90 * second],
    [409, '75', 75 * second],
    [503, '-5', 10 * second], // R133: not a number of seconds, so it says nothing
    [503, '+30', 10 * second],
    [503, '86400000', hour], // R134: capped
    [500, '120', 10 * second], // only 409, 429 and 503 may ask
  ])('a %i with retry-after %s is waited for: at least %i ms', async (status, retryAfter, leastMs) => {
    await using endpoint = await scriptedEndpoint({ status, headers: { 'retry-after': retryAfter } });
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article' });
    const { outbox } = started;

    await outbox.sender.runOnce();

    expect(await outbox.dueInMs()).toBeGreaterThan(leastMs - 5 * second);
    expect(await outbox.dueInMs()).toBeLessThanOrEqual(leastMs * 1.1);
  });

  test('a floor beyond the moment of giving up moves the last attempt to that moment', async () => {
    await using endpoint = await scriptedEndpoint({ status: 503, headers: { 'retry-after': '3600' } });
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const policy = { gapsMs: [second, second, second], giveUpAgeMs: 10 * minute };
    const { id } = await outbox.sender.notify({ ...event, policy });

    await outbox.sender.runOnce();
    expect(await outbox.dueInMs()).toBeLessThanOrEqual(10 * minute);
    expect(await outbox.dueInMs()).toBeGreaterThan(9.9 * minute);
    await outbox.age({ byMs: 10 * minute });
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({
      state: 'dead',
      reason: 'gave-up-by-age',
      attempts: 2,
    });
  });

  test('attempts that came late, because no worker ran, end by age', async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article' });
    const { outbox, id } = started;

    await outbox.age({ byMs: 20 * day }); // nothing was tried yet, so no time was lost
    await outbox.sender.runOnce();
    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'pending', attempts: 1 });
    await outbox.age({ byMs: 2 * hour }); // article gives up after 1.25 × 71 min
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({
      state: 'dead',
      reason: 'gave-up-by-age',
      attempts: 2,
    });
  });

  test('the time for which the endpoint was held does not count as age (R181)', async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article' });
    const { outbox, id } = started;
    await outbox.sender.runOnce();

    await outbox.sender.operations.holdEndpoint('merchant-42');
    await outbox.age({ byMs: 3 * day });
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
    await outbox.sender.operations.resumeEndpoint('merchant-42');
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'pending', attempts: 2 });
  });

  test('a claim that was lost costs no attempt, so that a crash loop cannot use up a schedule (R137, R178)', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using started = await failing(endpoint.url, { id: 'merchant-42', policy: 'article' });
    const { outbox, id } = started;
    const alerts: number[] = [];
    outbox.sender.on('claimsLost', ({ lostClaims }) => alerts.push(lostClaims));
    const losing = (times: number) =>
      outbox.query(`update outbox set claim_token = gen_random_uuid(), lost_claims = ${times - 1}, due_at = now()`);

    await losing(19);
    await outbox.sender.runOnce();
    expect(alerts).toEqual([]);
    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'delivered', attempts: 1, lostClaims: 0 });
    await outbox.sender.operations.resend(id, { acceptDuplicateEffect: true });
    await losing(99);
    await outbox.sender.runOnce();
    expect(alerts).toEqual([99]);
    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'delivered' });
    await outbox.sender.operations.resend(id, { acceptDuplicateEffect: true });
    await losing(100);
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({
      state: 'dead',
      reason: 'lost-claims',
      attempts: 0,
    });
    expect(endpoint.requests).toHaveLength(2);
  });
});
