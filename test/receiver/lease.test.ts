import { AsyncLocalStorage } from 'node:async_hooks';
import { memoryStore, type Completed, type Store } from '@bestnotify/receiver';
import { describe, expect, test } from 'vitest';
import { line, receiverFor, senderTo } from './merchant.ts';

const event = { type: 'payment.success', bizId: 'PAY1' };

/** A real store of which one verb is late, or broken. */
function storeWith(changes: Partial<Store>): Store {
  const store = memoryStore();
  return {
    kind: store.kind,
    acquire: (request) => store.acquire(request),
    renew: (request) => store.renew(request),
    complete: (request) => store.complete(request),
    release: (request) => store.release(request),
    forget: (key, subject) => store.forget(key, subject),
    ...changes,
  };
}

/** A handler that works until it is told to stop, and says when that was. */
function untilAborted(onAbort: () => void) {
  return (_notification: unknown, { signal }: { signal: AbortSignal }): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        onAbort();
        reject(signal.reason as Error);
      });
    });
}

describe('a lease is never longer here than in the store', () => {
  test('it counts from when the claim was asked for, however late the answer came', async () => {
    const store = memoryStore();
    let askedAtMs = 0;
    let lostAtMs = 0;
    const receiver = receiverFor({
      store: storeWith({
        acquire: async (request) => {
          askedAtMs = performance.now();
          const answer = await store.acquire(request);
          await new Promise((resolve) => setTimeout(resolve, 800));
          return answer;
        },
        renew: () => Promise.reject(new Error('away')),
      }),
      leaseMs: 1_000,
      heartbeatMs: 100,
      handler: untilAborted(() => (lostAtMs = performance.now())),
    });
    expect(line(await senderTo(receiver).once(event))).toBe('500 fail handler-error');
    expect(lostAtMs - askedAtMs).toBeGreaterThanOrEqual(995);
    expect(lostAtMs - askedAtMs).toBeLessThan(1_600);
    expect(receiver.stats().leasesLost).toBe(1);
  });

  test('a renewal that is not answered is waited for until the lease is over, and no longer', async () => {
    let lostAtMs = 0;
    const receiver = receiverFor({
      store: storeWith({ renew: () => new Promise(() => undefined) }),
      leaseMs: 400,
      heartbeatMs: 100,
      storeTimeoutMs: 60_000,
      handlerTimeoutMs: 30_000,
      handler: untilAborted(() => (lostAtMs = performance.now())),
    });
    const startedAtMs = performance.now();
    expect(line(await senderTo(receiver).once(event))).toBe('500 fail handler-error');
    expect(lostAtMs - startedAtMs).toBeLessThan(5_000);
    expect(receiver.stats().leasesLost).toBe(1);
  });

  test('a claim that is answered after its whole lease is no yes, and is given back', async () => {
    const store = memoryStore();
    let runs = 0;
    let waitMs = 300;
    const receiver = receiverFor({
      store: storeWith({
        acquire: async (request) => {
          const answer = await store.acquire(request);
          await new Promise((resolve) => setTimeout(resolve, waitMs));
          return answer;
        },
        release: (request) => store.release(request),
      }),
      leaseMs: 100,
      heartbeatMs: 20,
      handler: () => void (runs += 1),
    });
    expect(line(await senderTo(receiver).once(event))).toBe('503 fail store-unavailable');
    waitMs = 0;
    expect(line(await senderTo(receiver).once(event))).toBe('200 success handled');
    expect(runs).toBe(1);
  });
});

test('a record that is written late and finds another payload there is told to the hook and as a warning', async () => {
  const answers: (() => Promise<Completed>)[] = [
    () => Promise.reject(new Error('away')),
    () => Promise.resolve('conflict'),
  ];
  const conflicts: unknown[] = [];
  const codes: string[] = [];
  const receiver = receiverFor({
    store: storeWith({ complete: () => (answers.shift() as () => Promise<Completed>)() }),
    handler: () => undefined,
    onConflict: (facts) => conflicts.push(facts),
    onWarning: ({ code }) => codes.push(code),
  });
  expect(line(await senderTo(receiver).once(event))).toBe('200 success handled');
  await receiver.drain();
  expect(answers).toEqual([]);
  expect(conflicts).toMatchObject([{ key: event, id: expect.stringMatching(/^ntf_/) as string }]);
  expect(codes).toEqual(['RECEIVER_LATE_CONFLICT']);
  expect(receiver.stats().recordsLost).toBe(0);
});

test('what listens to the signal runs in the async context of its own request, though deadlines share a timer', async () => {
  const requests = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const receiver = receiverFor({
    handlerTimeoutMs: 50,
    handler: untilAborted(() => seen.push(requests.getStore())),
  });
  const sender = senderTo(receiver);
  await Promise.all(['A', 'B', 'C'].map((bizId) => requests.run(bizId, () => sender.once({ ...event, bizId }))));
  await receiver.drain();
  expect(seen).toEqual(['A', 'B', 'C']);
});
