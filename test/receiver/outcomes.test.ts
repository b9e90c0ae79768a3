import { Ignore, memoryStore, redisStore, RetryLater, type ReceiverOptions, type Store } from '@bestnotify/receiver';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { gate, genuine, line, receiverFor, senderTo } from './merchant.ts';

const redis = new Redis(requiredEnv('REDIS_URL'));
afterAll(() => redis.disconnect());

const stores: { name: string; open: () => Store }[] = [
  { name: 'memory', open: () => memoryStore() },
  { name: 'Redis', open: () => redisStore(redis, { prefix: `test:${randomUUID()}` }) },
];

describe.each(stores)('what a handler does decides the answer, on $name', ({ open }) => {
  const merchant = (options: Partial<ReceiverOptions> = {}) => {
    const receiver = receiverFor({ store: open(), ...options });
    return { receiver, sender: senderTo(receiver) };
  };
  const event = { type: 'payment.success', bizId: 'PAY1' };

  test('it resolves: success, and every copy afterwards is absorbed without running it', async () => {
    let runs = 0;
    const duplicates: unknown[] = [];
    const { receiver, sender } = merchant({ onDuplicate: (facts) => duplicates.push(facts) });
    receiver.on('payment.success', () => void (runs += 1));
    expect(line(await sender.once(event))).toBe('200 success handled');
    expect(line(await sender.once(event))).toBe('200 success duplicate');
    expect(runs).toBe(1);
    expect(duplicates).toMatchObject([{ key: { bizId: 'PAY1', type: 'payment.success' } }]);
  });

  test('what it returns never becomes the body (R088)', async () => {
    const { receiver, sender } = merchant({ handler: () => ({ code: 0, message: 'fail' }) });
    expect(line(await sender.once(event))).toBe('200 success handled');
    expect(receiver.stats().replies.handled).toBe(1);
  });

  test('it throws: fail, and the next delivery runs it again as attempt 2 with a larger fence (R062)', async () => {
    const seen: { attempt: number; fence: number }[] = [];
    const errors: unknown[] = [];
    const { sender } = merchant({
      onError: ({ error }) => errors.push(error),
      handler: (_notification, { attempt, fence }) => {
        seen.push({ attempt, fence });
        if (attempt === 1) throw new Error('the database is away');
      },
    });
    expect(line(await sender.once(event))).toBe('500 fail handler-error');
    expect(line(await sender.once(event))).toBe('200 success handled');
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(seen[1]!.fence).toBeGreaterThan(seen[0]!.fence);
    expect(errors).toMatchObject([{ message: 'the database is away' }]);
  });

  test('it asks for later: 503 with its own retry-after, rounded up to seconds, and runs again', async () => {
    let runs = 0;
    const { sender } = merchant({
      handler: () => {
        if ((runs += 1) === 1) throw new RetryLater({ afterMs: 90_500 });
      },
    });
    const reply = await sender.once(event);
    expect(line(reply)).toBe('503 fail retry-later');
    expect(reply?.headers['retry-after']).toBe('91');
    expect(line(await sender.once(event))).toBe('200 success handled');
  });

  test('it ignores the event: success with that reason, recorded as done', async () => {
    let runs = 0;
    const { sender } = merchant({
      handler: () => {
        runs += 1;
        throw new Ignore('not our currency');
      },
    });
    expect(line(await sender.once(event))).toBe('200 success ignored');
    expect(line(await sender.once(event))).toBe('200 success duplicate');
    expect(runs).toBe(1);
  });

  test('R059: of two copies at the same instant one runs, the other is told to come back and then gets success', async () => {
    const entered = gate();
    const finish = gate();
    let runs = 0;
    const { sender } = merchant({
      handler: async () => {
        runs += 1;
        entered.open();
        await finish.promise;
      },
    });
    const first = sender.once(event);
    await entered.promise;
    const second = await sender.once(event);
    expect(line(second)).toBe('409 fail in-progress');
    expect(Number(second?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(second?.headers['retry-after'])).toBeLessThanOrEqual(8);
    finish.open();
    expect(line(await first)).toBe('200 success handled');
    expect(line(await sender.once(event))).toBe('200 success duplicate');
    expect(runs).toBe(1);
  });

  test('R068: another payload under the same business id is refused while it runs, after it, and after a failure', async () => {
    const conflicts: unknown[] = [];
    const { sender } = merchant({
      onConflict: (facts) => conflicts.push(facts),
      handler: ({ data }) => {
        if ((data as { amount: string }).amount === 'bad') throw new Error('no');
      },
    });
    await sender.once({ ...event, data: { amount: '100.00' } });
    expect(line(await sender.once({ ...event, data: { amount: '900.00' } }))).toBe('422 fail payload-conflict');
    await sender.once({ ...event, bizId: 'PAY2', data: { amount: 'bad' } });
    expect(line(await sender.once({ ...event, bizId: 'PAY2', data: { amount: '1.00' } }))).toBe(
      '422 fail payload-conflict',
    );
    expect(conflicts).toMatchObject([{ key: { bizId: 'PAY1' } }, { key: { bizId: 'PAY2' } }]);
  });

  test('two refunds of one order are two events and both take effect, in any order (R067)', async () => {
    const refunded: string[] = [];
    const { sender } = merchant({ latestOnly: ['order.status'], handler: ({ bizId }) => void refunded.push(bizId) });
    for (const [bizId, sequence] of [
      ['RF2', 2],
      ['RF1', 1],
    ] as const) {
      const reply = await sender.once({ type: 'refund.success', bizId, subject: 'ORDER7', sequence });
      expect(line(reply)).toBe('200 success handled');
    }
    expect(refunded).toEqual(['RF2', 'RF1']);
  });

  test('R058: the deadline answers fail, never success; the claim is held while the handler still runs, and its late end counts', async () => {
    const finish = gate();
    const aborted: unknown[] = [];
    let runs = 0;
    const { receiver, sender } = merchant({
      handlerTimeoutMs: 50,
      handler: async (_notification, { signal }) => {
        runs += 1;
        signal.addEventListener('abort', () => aborted.push((signal.reason as Error).name));
        await finish.promise;
      },
    });
    expect(line(await sender.once(event))).toBe('500 fail handler-error');
    expect(aborted).toEqual(['HandlerTimeoutError']);
    expect(line(await sender.once(event))).toBe('409 fail in-progress');
    finish.open();
    await receiver.drain();
    expect(line(await sender.once(event))).toBe('200 success duplicate');
    expect(runs).toBe(1);
  });

  test('R058: a handler that fails after its deadline is run again', async () => {
    const finish = gate();
    let runs = 0;
    const { receiver, sender } = merchant({
      handlerTimeoutMs: 50,
      handler: async () => {
        if ((runs += 1) === 1) await finish.promise;
      },
    });
    expect(line(await sender.once(event))).toBe('500 fail handler-error');
    finish.fail(new Error('rejected at 9.5 s'));
    await receiver.drain();
    expect(line(await sender.once(event))).toBe('200 success handled');
  });

  test('a handler that never ends lets go of its notification after one more lease', async () => {
    let runs = 0;
    const { receiver, sender } = merchant({
      handlerTimeoutMs: 100,
      leaseMs: 1_000,
      heartbeatMs: 200,
      handler: () => ((runs += 1) === 1 ? new Promise(() => undefined) : undefined),
    });
    expect(line(await sender.once(event))).toBe('500 fail handler-error');
    expect(line(await sender.once(event))).toBe('409 fail in-progress');
    await receiver.drain(); // a stopping process is not held up by it either
    await awaitUntil('the lease has run out', async () => line(await sender.once(event)) === '200 success handled');
    expect(runs).toBe(2);
  });

  test('a handler slower than its lease keeps it, because the lease is renewed', async () => {
    const { receiver, sender } = merchant({
      leaseMs: 600,
      heartbeatMs: 100,
      handler: () => new Promise((resolve) => setTimeout(resolve, 1_800)),
    });
    const first = sender.once(event);
    for (let i = 0; i < 4; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      expect(line(await sender.once(event))).toBe('409 fail in-progress');
    }
    expect(line(await first)).toBe('200 success handled');
    expect(receiver.stats().leasesLost).toBe(0);
  });

  test('a lost lease aborts the handler and answers fail', async () => {
    const store = open();
    const entered = gate();
    const { receiver, sender } = merchant({
      store: { ...bind(store), renew: () => Promise.resolve(false) },
      leaseMs: 60,
      heartbeatMs: 15,
      handler: async (_notification, { signal }) => {
        entered.open();
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      },
    });
    expect(line(await sender.once(event))).toBe('500 fail handler-error');
    expect(receiver.stats().leasesLost).toBe(1);
  });

  test('a forgotten notification runs again, for a merchant restored from a backup', async () => {
    let runs = 0;
    const { receiver, sender } = merchant({ handler: () => void (runs += 1) });
    await sender.once(event);
    expect(await receiver.forget(event)).toBe(true);
    expect(await receiver.forget(event)).toBe(false);
    expect(line(await sender.once(event))).toBe('200 success handled');
    expect(runs).toBe(2);
  });

  test('R076: the page and the notification take effect once between them, when the page claims the same key', async () => {
    const store = open();
    let effects = 0;
    const { receiver, sender } = merchant({ store, handler: () => void (effects += 1) });
    const request = genuine(event); // what the page would hold: the same facts, asked for through the same door
    const replies = await Promise.all([receiver.handle(request), sender.once(event), receiver.handle(request)]);
    expect(replies.map((reply) => reply?.status).sort()).toContain(200);
    expect(effects).toBe(1);
  });
});

/** A store of a class, as plain functions that a test may replace one of. */
function bind(store: Store): Store {
  return {
    kind: store.kind,
    acquire: (request) => store.acquire(request),
    renew: (request) => store.renew(request),
    complete: (request, options) => store.complete(request, options),
    release: (request) => store.release(request),
    forget: (key, subject) => store.forget(key, subject),
  };
}

describe('a type without a handler', () => {
  test('is answered success, warned about once, and not recorded, so that a later handler gets its copy', async () => {
    const warnings: string[] = [];
    const store = memoryStore();
    const receiver = receiverFor({ store, onWarning: ({ code }) => warnings.push(code) });
    const sender = senderTo(receiver);
    expect(line(await sender.once({ type: 'invoice.new', bizId: 'I1' }))).toBe('200 success ignored');
    expect(line(await sender.once({ type: 'invoice.new', bizId: 'I2' }))).toBe('200 success ignored');
    expect(warnings).toEqual(['RECEIVER_UNHANDLED_TYPE']);
    receiver.on('invoice.new', () => undefined);
    expect(line(await sender.once({ type: 'invoice.new', bizId: 'I1' }))).toBe('200 success handled');
  });

  test("fails where unhandled: 'fail' was chosen", async () => {
    const receiver = receiverFor({ unhandled: 'fail' });
    expect(line(await senderTo(receiver).once({ type: 'invoice.new', bizId: 'I1' }))).toBe('500 fail handler-error');
  });
});

describe('hooks and numbers', () => {
  test('a hook that throws or rejects changes no answer', async () => {
    const receiver = receiverFor({
      handler: () => undefined,
      onDuplicate: () => {
        throw new Error('the log is full');
      },
      onInvalid: () => Promise.reject(new Error('the log is away')) as never,
    });
    const sender = senderTo(receiver);
    await sender.once({ type: 'a', bizId: '1' });
    expect(line(await sender.once({ type: 'a', bizId: '1' }))).toBe('200 success duplicate');
    expect(line(await receiver.handle({ method: 'POST', headers: {}, body: '' }))).toBe('401 fail invalid-signature');
  });

  test('R184: refusals are counted by what is wrong, the missing header is named, and the last success has a time', async () => {
    const invalid: { reason: string; message: string }[] = [];
    const receiver = receiverFor({ handler: () => undefined, onInvalid: (facts) => invalid.push(facts) });
    expect(receiver.stats().lastAcceptedAt).toBeUndefined();
    const { body, headers } = genuine();
    const foreign = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.replace('webhook-', 'x-best-'), value]),
    );
    expect(line(await receiver.handle({ method: 'POST', headers: foreign, body }))).toBe('401 fail invalid-signature');
    expect(invalid).toMatchObject([{ reason: 'invalid-signature' }]);
    expect(invalid[0]!.message).toContain('webhook-id');
    expect(receiver.stats()).toMatchObject({
      lastAcceptedAt: undefined,
      replies: { 'invalid-signature': 1 },
      signatures: { missing: 1 },
    });
    await receiver.handle(genuine());
    expect(receiver.stats().lastAcceptedAt).toBeInstanceOf(Date);
  });
});
