import { parseVerifyingKey, verifyNotification } from '@bestnotify/protocol';
import { isSenderError } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { hang, scriptedEndpoint, type RecordedRequest } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };
const day = 24 * 60 * 60 * 1000;

/** The code of the error that an action ends with, or nothing. */
const codeOf = (action: Promise<unknown>) =>
  action.then(
    () => undefined,
    (error: unknown) => (isSenderError(error) ? error.code : String(error)),
  );

describe.each(databases)('an operator on $name', ({ open }) => {
  /** One notification, and a way to bring it into each state. */
  const opened = async (url = 'http://127.0.0.1:9999/notify') => {
    const outbox = await freshOutbox(open);
    const secret = await outbox.putEndpoint({ id: 'merchant-42', url, policy: 'article' });
    const { id } = await outbox.sender.notify(event);
    const { operations } = outbox.sender;
    const states: Record<string, () => Promise<unknown>> = {
      pending: () => Promise.resolve(),
      delivered: () => outbox.query(`update outbox set state = 1, reason = 'handled', settled_at = now()`),
      dead: () => outbox.query(`update outbox set state = 2, reason = 'attempts-used-up', settled_at = now()`),
      cancelled: () => operations.cancel(id),
      closed: async () => {
        await states['dead']?.();
        await operations.close(id, { note: 'refunded by hand' });
      },
    };
    return {
      ...outbox,
      id,
      secret,
      operations,
      bring: (state: string) => states[state]?.(),
      show: () => operations.show(id),
    };
  };

  test.each([
    ['pending', { sendNow: 'ok', cancel: 'ok', close: 'refused', resend: 'refused' }],
    ['delivered', { sendNow: 'refused', cancel: 'refused', close: 'refused', resend: 'ok' }],
    ['dead', { sendNow: 'refused', cancel: 'refused', close: 'ok', resend: 'ok' }],
    ['cancelled', { sendNow: 'refused', cancel: 'refused', close: 'refused', resend: 'ok' }],
    ['closed', { sendNow: 'refused', cancel: 'refused', close: 'refused', resend: 'needs consent' }],
  ])(
    'may do with a %s notification what its state allows, and is told the state otherwise (R190)',
    async (state, expected) => {
      const results: Record<string, string> = {};
      for (const action of ['sendNow', 'cancel', 'close', 'resend'] as const) {
        await using outbox = await opened();
        await outbox.bring(state);
        const before = await outbox.show();
        expect(before.state).toBe(state);
        const error: unknown = await outbox.operations[action](outbox.id, { note: 'because' }).catch(
          (reason: unknown) => reason,
        );
        results[action] =
          error === undefined ? 'ok' : codeIn(error) === 'SENDER_DUPLICATE_EFFECT' ? 'needs consent' : 'refused';
        if (error === undefined) continue;
        expect(await outbox.show()).toEqual(before);
        if (results[action] === 'refused')
          expect(error).toMatchObject({ code: 'SENDER_ILLEGAL_STATE', state, isClaimed: false });
      }
      expect(results).toEqual(expected);
    },
  );

  test('may do nothing with a notification while it is being sent', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await opened(endpoint.url);
    const worker = outbox.sender.startWorker({ minPollMs: 5 });
    await endpoint.received(1);

    for (const action of ['sendNow', 'cancel', 'close', 'resend'] as const) {
      await expect(outbox.operations[action](outbox.id, { note: 'x' })).rejects.toMatchObject({
        ...{ code: 'SENDER_ILLEGAL_STATE', state: 'pending', isClaimed: true },
      });
    }
    expect(await outbox.show()).toMatchObject({ isClaimed: true });
    await worker.stop({ graceMs: 1 });
  });

  test('who presses send-now five times at the same moment causes one request (R191)', async () => {
    await using endpoint = await scriptedEndpoint(500, { delayMs: 50 });
    await using outbox = await opened(endpoint.url);
    await outbox.sender.runOnce();
    const [first] = endpoint.requests;
    expect(first).toBeDefined();

    const results = await Promise.all(Array.from({ length: 5 }, () => codeOf(outbox.operations.sendNow(outbox.id))));
    expect(results.every((code) => code === undefined)).toBe(true);
    await Promise.all([outbox.sender.runOnce(), outbox.another().runOnce(), outbox.another().runOnce()]);

    expect(await outbox.show()).toMatchObject({ state: 'delivered', attempts: 2, round: 1 });
    expect(endpoint.requests).toHaveLength(2);
    expect(endpoint.mostInFlight).toBe(1);
  });

  test('who presses resend five times at the same moment opens one round (R191)', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    await outbox.bring('dead');

    const results = await Promise.all(Array.from({ length: 5 }, () => codeOf(outbox.operations.resend(outbox.id))));

    expect(results.filter((code) => code === undefined)).toHaveLength(1);
    expect(results.filter((code) => code === 'SENDER_ILLEGAL_STATE')).toHaveLength(4);
    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'delivered', round: 2 });
    expect(endpoint.requests).toHaveLength(1);
  });

  test('resends into a fresh round with a budget of its own; the history stays (R187)', async () => {
    await using endpoint = await scriptedEndpoint(500);
    await using outbox = await opened(endpoint.url);
    for (let pass = 0; pass < 5; pass += 1) {
      await outbox.sender.runOnce();
      await outbox.age({ byMs: 2 * 60 * 60 * 1000 - 1 });
      await outbox.query('update outbox set first_attempt_at = now()'); // by count, not by age
    }
    expect(await outbox.show()).toMatchObject({ state: 'dead', reason: 'attempts-used-up', attempts: 5 });

    await outbox.operations.resend(outbox.id);
    endpoint.script(500, 200);
    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'pending', round: 2, attempts: 1, reason: null });
    const dueInMs = await outbox.dueInMs();
    expect(dueInMs).toBeLessThanOrEqual(11_000); // the first gap again
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    const { attemptLog, ...row } = await outbox.show();
    expect(row).toMatchObject({ state: 'delivered', round: 2, attempts: 2 });
    expect(attemptLog.map(({ round, ordinal }) => [round, ordinal])).toEqual([
      ...[1, 2, 3, 4, 5].map((ordinal) => [1, ordinal]),
      ...[1, 2].map((ordinal) => [2, ordinal]),
    ]);
  });

  test("resends the same id and bytes to the endpoint's URL of now, signed with its key of now (R197)", async () => {
    await using before = await scriptedEndpoint({ status: 500 });
    await using after = await scriptedEndpoint(200);
    await using outbox = await opened(before.url);
    await outbox.sender.runOnce();
    await outbox.bring('dead');
    const secret = await outbox.putEndpoint({ id: 'merchant-42', url: after.url });

    await outbox.operations.resend(outbox.id);
    await outbox.sender.runOnce();

    const [old] = before.requests;
    const [request] = after.requests;
    expect(request?.body).toEqual(old?.body);
    expect(request?.headers['webhook-id']).toBe(outbox.id);
    expect(isSignedWith(request, secret)).toBe(true);
    expect(isSignedWith(request, outbox.secret)).toBe(false);
    expect(before.requests).toHaveLength(1);
  });

  test("resends to a corrected URL, which stays; else to the notification's own, whatever the endpoint's is", async () => {
    await using own = await scriptedEndpoint(500);
    await using corrected = await scriptedEndpoint(500, 200);
    await using outbox = await opened();
    const { id } = await outbox.sender.notify({ ...event, bizId: 'PAY2', url: own.url, maxAttempts: 1 });
    await outbox.operations.cancel(outbox.id);
    await outbox.sender.runOnce();
    await outbox.operations.resend(id);
    await outbox.sender.runOnce();
    expect(own.requests).toHaveLength(2);

    await outbox.operations.resend(id, { url: corrected.url });
    await outbox.sender.runOnce();
    await outbox.operations.resend(id);
    await outbox.sender.runOnce();

    expect(own.requests).toHaveLength(2);
    expect(corrected.requests).toHaveLength(2);
    expect(await outbox.operations.show(id)).toMatchObject({ state: 'delivered', url: corrected.url, round: 4 });
    await expect(outbox.operations.resend(id, { url: 'ftp://x/' })).rejects.toMatchObject({
      code: 'SENDER_ENDPOINT_URL',
    });
  });

  test.each([
    ['delivered over 6 days ago', 6.01, true, 'SENDER_DUPLICATE_EFFECT'],
    ['delivered less than 6 days ago', 5.99, true, undefined],
    ['certainly never received, however long ago', 300, false, undefined],
  ] as const)(
    'who resends what was %s must accept a second effect, or need not',
    async (_what, daysAgo, mayHaveArrived, code) => {
      await using endpoint = await scriptedEndpoint(200);
      await using outbox = await opened(endpoint.url);
      await outbox.bring('dead');
      await outbox.query(
        `update outbox set first_claimed_at = now() - interval '1 day' * ${daysAgo}, may_have_arrived = ${mayHaveArrived}`,
      );

      expect(await codeOf(outbox.operations.resend(outbox.id))).toBe(code);

      if (code !== undefined) await outbox.operations.resend(outbox.id, { acceptDuplicateEffect: true });
      await outbox.sender.runOnce();
      expect(await outbox.show()).toMatchObject({ state: 'delivered', round: 2 });
    },
  );

  test('closes with a note; to send it after all is a second decision', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    await outbox.bring('closed');

    expect(await outbox.show()).toMatchObject({ state: 'closed', reason: 'attempts-used-up' });
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
    expect(await codeOf(outbox.operations.resend(outbox.id))).toBe('SENDER_DUPLICATE_EFFECT');
    await outbox.operations.resend(outbox.id, { acceptDuplicateEffect: true });
    await outbox.sender.runOnce();
    expect(await outbox.show()).toMatchObject({ state: 'delivered', round: 2 });
  });

  test('holds an endpoint: what is enqueued meanwhile is kept and arrives after the resume (R181)', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await opened(endpoint.url);
    await outbox.operations.holdEndpoint('merchant-42', { note: 'migrating' });
    await outbox.sender.notifyMany(['PAY2', 'PAY3'].map((bizId) => ({ ...event, bizId })));

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
    expect(await outbox.sender.endpoints.get('merchant-42')).toMatchObject({ heldBecause: 'migrating' });
    await outbox.operations.holdEndpoint('merchant-42', { note: 'again' }); // the first reason and moment stay
    expect(await outbox.sender.endpoints.get('merchant-42')).toMatchObject({ heldBecause: 'migrating' });
    await outbox.age({ byMs: 3 * day });
    await outbox.operations.resumeEndpoint('merchant-42');
    await outbox.operations.resumeEndpoint('merchant-42');

    expect(await outbox.sender.endpoints.get('merchant-42')).toMatchObject({ heldBecause: null });
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 3, delivered: 3 });
    expect(endpoint.mostInFlight).toBe(1); // it comes back slowly
  });

  test('is told when the notification or endpoint does not exist', async () => {
    await using outbox = await opened();
    const { operations, id } = outbox;
    const others = outbox.another({ source: 'acme-pay-test' }).operations;
    const unknownIds = [
      '',
      'ntf_',
      'ntf_1',
      `${id}x`,
      id.slice(4).replace(/^./, 'z'),
      'ntf_00000000-0000-7000-8000-000000000000',
      "'; drop table outbox; --",
    ];

    for (const unknown of unknownIds) {
      for (const action of ['show', 'sendNow', 'cancel', 'resend'] as const) {
        expect([unknown, action, await codeOf(operations[action](unknown))]).toEqual([
          unknown,
          action,
          'SENDER_UNKNOWN_NOTIFICATION',
        ]);
      }
    }
    for (const action of ['show', 'sendNow', 'cancel', 'resend'] as const) {
      expect(await codeOf(others[action](id))).toBe('SENDER_UNKNOWN_NOTIFICATION'); // it belongs to another source
    }
    expect(await codeOf(operations.holdEndpoint('nobody'))).toBe('SENDER_UNKNOWN_ENDPOINT');
    expect(await codeOf(operations.resumeEndpoint('nobody'))).toBe('SENDER_UNKNOWN_ENDPOINT');
  });

  test('leaves a trace of everything that was done, and of nothing that was refused', async () => {
    await using outbox = await opened();
    const { operations, id } = outbox;
    await codeOf(operations.close(id, { note: 'refused' }));
    await operations.sendNow(id, { actor: 'ann' });
    await operations.cancel(id, { actor: 'ben', note: 'not needed' });
    await codeOf(operations.cancel(id));
    await operations.resend(id, { actor: 'ann' });
    await operations.holdEndpoint('merchant-42', { actor: 'cat' });

    const trace = await outbox.query('select actor, action, endpoint, note from audit order by number');

    const endpoint = 'merchant-42';
    expect(trace).toMatchObject([
      { actor: 'ann', action: 'send-now', endpoint },
      { actor: 'ben', action: 'cancel', endpoint, note: 'not needed' },
      { actor: 'ann', action: 'resend', endpoint },
      { actor: 'cat', action: 'hold-endpoint', endpoint },
    ]);
  });

  test('finds notifications by each of their facts, alone and together', async () => {
    await using outbox = await freshOutbox(open);
    const { sender } = outbox;
    for (const id of ['a', 'b']) await outbox.putEndpoint({ id });
    for (const endpoint of ['a', 'b']) {
      for (const [n, type] of ['payment.success', 'refund.success'].entries()) {
        await sender.notify({ endpoint, type, bizId: `${endpoint}${n}`, subject: `ORDER${n}`, data: {} });
      }
    }
    const { items: all } = await sender.operations.list();
    await sender.operations.cancel(all.find((item) => item.bizId === 'a0')?.id ?? '');

    const found = async (filter: Parameters<typeof sender.operations.list>[0]) =>
      (await sender.operations.list(filter)).items.map((item) => item.bizId).sort();

    expect(await found({ endpoint: 'a' })).toEqual(['a0', 'a1']);
    expect(await found({ type: 'refund.success' })).toEqual(['a1', 'b1']);
    expect(await found({ bizId: 'b0' })).toEqual(['b0']);
    expect(await found({ subject: 'ORDER1' })).toEqual(['a1', 'b1']);
    expect(await found({ state: 'pending' })).toEqual(['a1', 'b0', 'b1']);
    expect(await found({ state: 'cancelled', reason: 'cancelled' })).toEqual(['a0']);
    expect(await found({ endpoint: 'a', subject: 'ORDER1', type: 'refund.success' })).toEqual(['a1']);
    expect(await found({ endpoint: 'nobody' })).toEqual([]);
    await outbox.query(`update notification set created_at = now() - interval '1 hour' where biz_id = 'b0'`);
    const [moment] = await outbox.query<{ at: string }>(
      `select to_char((now() - interval '30 minutes') at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at`,
    );
    const at = new Date(moment?.at ?? '');
    expect(await found({ until: at })).toEqual(['b0']);
    expect(await found({ since: at })).toEqual(['a0', 'a1', 'b1']);
    for (const [name, value] of [
      ['state', 'unknown'],
      ['limit', 0],
      ['limit', 501],
      ['after', 'x'],
    ] as const) {
      expect(await codeOf(sender.operations.list({ [name]: value }))).toBe('SENDER_CONFIGURATION');
    }
  });

  test('pages through notifications of one moment without missing or repeating one (R164, R203)', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    await outbox.query('alter sequence notification_number restart with 9007199254740992');
    await outbox.sender.notifyMany(Array.from({ length: 7 }, (_, n) => ({ ...event, bizId: `PAY${n}` })));
    for (const state of [undefined, 'pending'] as const) {
      const seen: string[] = [];
      let after: string | undefined;
      for (let page = 0; page < 20; page += 1) {
        const { items, next } = await outbox.sender.operations.list({
          limit: 2,
          ...(state !== undefined && { state }),
          ...(after !== undefined && { after }),
        });
        expect(items.length).toBeLessThanOrEqual(2);
        seen.push(...items.map((item) => item.bizId));
        if (next === null) break;
        after = next;
      }
      expect(seen.sort()).toEqual(['PAY0', 'PAY1', 'PAY2', 'PAY3', 'PAY4', 'PAY5', 'PAY6']);
    }
  });

  test('sees how the outbox is doing', async () => {
    await using endpoint = await scriptedEndpoint(hang);
    await using outbox = await opened(endpoint.url);
    await outbox.sender.notify({ ...event, bizId: 'PAY2' });
    await outbox.age({ byMs: 60_000 });
    expect(await outbox.operations.stats()).toMatchObject({ due: 2, inFlight: 0, dead: 0, heldEndpoints: 0 });
    expect((await outbox.operations.stats()).oldestDueMs).toBeGreaterThanOrEqual(60_000);

    const worker = outbox.sender.startWorker({ minPollMs: 5 });
    await endpoint.received(2);
    expect(await outbox.operations.stats()).toMatchObject({ due: 0, inFlight: 2, oldestDueMs: 0 });
    await worker.stop({ graceMs: 1 });
    await outbox.bring('dead');
    await outbox.operations.holdEndpoint('merchant-42');
    expect(await outbox.operations.stats()).toMatchObject({ due: 0, inFlight: 0, dead: 2, heldEndpoints: 1 });
  });
});

function codeIn(error: unknown): string {
  return isSenderError(error) ? error.code : String(error);
}

function isSignedWith(request: RecordedRequest | undefined, secret: string): boolean {
  const { headers, body } = request ?? expect.fail('there was no request');
  try {
    return verifyNotification({ headers, body, keys: [parseVerifyingKey(secret)] }).version === 'v1';
  } catch {
    return false;
  }
}
