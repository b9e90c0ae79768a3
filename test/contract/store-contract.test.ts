import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { again, digestOf, leaseMs, requestFor, storeKinds, type StoreUnderTest } from './stores.ts';

describe.each(storeKinds)('the store contract on $name', ({ open }) => {
  let opened: StoreUnderTest;
  beforeAll(async () => void (opened = await open()));
  afterAll(() => opened[Symbol.asyncDispose]());

  /** What the receiver does with a handler that resolves. */
  const finish = async (request: ReturnType<typeof requestFor>) => {
    await opened.commitEffect(request);
    return opened.store.complete(request);
  };

  test('a new key is acquired as attempt 1, and while it runs a copy is busy for what is left of the lease', async () => {
    const request = requestFor();
    expect(await opened.store.acquire(request)).toMatchObject({ verdict: 'acquired', attempt: 1 });
    const copy = await opened.store.acquire(again(request));
    expect(copy.verdict).toBe('busy');
    const remainingMs = copy.verdict === 'busy' ? copy.remainingMs : 0;
    expect(remainingMs).toBeGreaterThan(leaseMs - 10_000);
    expect(remainingMs).toBeLessThanOrEqual(leaseMs);
  });

  test('R059: of fifty claims for one key at the same instant one is acquired, over many rounds', async () => {
    for (let round = 0; round < 20; round += 1) {
      const request = requestFor();
      const answers = await Promise.all(Array.from({ length: 50 }, () => opened.store.acquire(again(request))));
      expect(answers.filter(({ verdict }) => verdict === 'acquired')).toHaveLength(1);
      expect(answers.filter(({ verdict }) => verdict === 'busy')).toHaveLength(49);
    }
  });

  test('asking again with the same token is the same claim, so a lost answer costs nothing', async () => {
    const request = requestFor();
    const first = await opened.store.acquire(request);
    expect(await opened.store.acquire(request)).toEqual(first);
  });

  test('a finished key is a duplicate for the same payload and a conflict for another', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    expect(await finish(request)).toBe('done');
    expect(await opened.store.acquire(again(request))).toEqual({ verdict: 'duplicate' });
    expect(await opened.store.acquire(again(request, { digest: digestOf('other') }))).toEqual({ verdict: 'conflict' });
  });

  test('R068: another payload is a conflict while the first runs, after it failed, and after its lease', async () => {
    const request = requestFor();
    const other = () => opened.store.acquire(again(request, { digest: digestOf('amount 900') }));
    await opened.store.acquire(request);
    expect(await other()).toEqual({ verdict: 'conflict' });
    await opened.endLeases();
    expect(await other()).toEqual({ verdict: 'conflict' });
    const next = again(request);
    await opened.store.acquire(next);
    await opened.store.release(next);
    expect(await other()).toEqual({ verdict: 'conflict' });
  });

  test('R068: of two payloads at the same instant exactly one runs', async () => {
    for (let round = 0; round < 20; round += 1) {
      const request = requestFor();
      const answers = await Promise.all(
        ['100', '900', '100', '900'].map((body) => opened.store.acquire(again(request, { digest: digestOf(body) }))),
      );
      expect(answers.filter(({ verdict }) => verdict === 'acquired')).toHaveLength(1);
      expect(answers.filter(({ verdict }) => verdict === 'conflict')).toHaveLength(2);
    }
  });

  test('R062: a released key runs again at once, as the next attempt with a larger fence', async () => {
    const request = requestFor();
    const first = await opened.store.acquire(request);
    expect(await opened.store.release(request)).toBe(true);
    const second = await opened.store.acquire(again(request));
    expect(second).toMatchObject({ verdict: 'acquired', attempt: 2 });
    if (first.verdict !== 'acquired' || second.verdict !== 'acquired') throw new Error('Both were acquired.');
    expect(second.fence).toBeGreaterThan(first.fence);
  });

  test('R061: a claim whose holder died is taken over when its lease is over, and the late holder changes nothing', async () => {
    const dead = requestFor();
    await opened.store.acquire(dead);
    await opened.endLeases();
    const survivor = again(dead);
    expect(await opened.store.acquire(survivor)).toMatchObject({ verdict: 'acquired', attempt: 2 });
    expect(await opened.store.renew(dead)).toBe(false);
    expect(await opened.store.release(dead)).toBe(false);
    expect(await opened.store.acquire(again(dead))).toMatchObject({ verdict: 'busy' });
    expect(await opened.store.renew(survivor)).toBe(true);
  });

  test('a lease that is over but not taken over can still be renewed', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    await opened.endLeases();
    expect(await opened.store.renew(request)).toBe(true);
    expect(await opened.store.acquire(again(request))).toMatchObject({ verdict: 'busy' });
  });

  test('nobody else can renew or release a claim', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    expect(await opened.store.renew(again(request))).toBe(false);
    expect(await opened.store.release(again(request))).toBe(false);
    expect(await opened.store.renew(requestFor())).toBe(false);
    expect(await opened.store.release(requestFor())).toBe(false);
  });

  test('done is recorded late as well: after the lease was lost to another run, and after a release', async () => {
    const late = requestFor();
    await opened.store.acquire(late);
    await opened.endLeases();
    await opened.store.acquire(again(late));
    expect(await finish(late)).toBe('done');
    expect(await opened.store.acquire(again(late))).toEqual({ verdict: 'duplicate' });

    const released = requestFor();
    await opened.store.acquire(released);
    await opened.store.release(released);
    expect(await finish(released)).toBe('done');
    expect(await opened.store.acquire(again(released))).toEqual({ verdict: 'duplicate' });
  });

  test('a record that was lost meanwhile is written anew by the one who finished', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    expect(await opened.store.forget(request.key)).toBe(true);
    expect(await finish(request)).toBe('done');
    expect(await opened.store.acquire(again(request))).toEqual({ verdict: 'duplicate' });
  });

  test('done stays done: finishing twice, releasing and renewing afterwards change nothing', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    await finish(request);
    expect(await opened.store.complete(request)).toBe('done');
    expect(await opened.store.release(request)).toBe(false);
    expect(await opened.store.renew(request)).toBe(false);
    expect(await opened.store.acquire(again(request))).toEqual({ verdict: 'duplicate' });
  });

  test('finishing with another payload than the record holds is a conflict and changes nothing', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    await finish(request);
    expect(await opened.store.complete(again(request, { digest: digestOf('other') }))).toBe('conflict');
    expect(await opened.store.acquire(again(request))).toEqual({ verdict: 'duplicate' });
  });

  test('a key with nothing to do is done without a transaction of the handler', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    expect(await opened.store.complete(request, { withoutEffect: true })).toBe('done');
    expect(await opened.store.acquire(again(request))).toEqual({ verdict: 'duplicate' });
  });

  test('a forgotten key runs again from the beginning, and forgetting it twice says so', async () => {
    const request = requestFor();
    await opened.store.acquire(request);
    await finish(request);
    expect(await opened.store.forget(request.key)).toBe(true);
    expect(await opened.store.forget(request.key)).toBe(false);
    expect(await opened.store.acquire(again(request, { digest: digestOf('restored') }))).toMatchObject({ attempt: 1 });
  });

  test('R064 R085: keys that differ in one part only, or move a delimiter, never meet', async () => {
    const id = `${Math.floor(performance.now() * 1e6)}`;
    const base = { source: 's', to: 't', type: 'a', bizId: id };
    const keys = [
      base,
      { ...base, source: 's:t', to: 'x' },
      { ...base, source: 's', to: 't:x' },
      { ...base, type: 'a:b', bizId: id },
      { ...base, type: 'a', bizId: `b:${id}` },
      { ...base, bizId: `${id}}{` },
      { ...base, bizId: `${id}%7D` },
      { ...base, bizId: `{${id}}` },
      { ...base, to: 'T' },
      { ...base, type: 'A' },
    ];
    for (const key of keys) {
      expect(await opened.store.acquire(requestFor({ key }))).toMatchObject({ verdict: 'acquired' });
    }
  });

  test('R077: the longest ids there can be are kept apart, also where every character is escaped', async () => {
    const long = '%'.repeat(127);
    const key = (last: string) => ({
      source: '%'.repeat(128),
      to: '{'.repeat(128),
      type: 'T'.repeat(64),
      bizId: long + last,
    });
    const [one, two] = [requestFor({ key: key('1') }), requestFor({ key: key('2') })];
    await opened.store.acquire(one);
    await finish(one);
    expect(await opened.store.acquire(again(one))).toEqual({ verdict: 'duplicate' });
    expect(await opened.store.acquire(two)).toMatchObject({ verdict: 'acquired' });
  });

  test('a whole crowd of different keys is decided each on its own', async () => {
    const crowd = Array.from({ length: 500 }, () => requestFor());
    const answers = await Promise.all(crowd.map((request) => opened.store.acquire(request)));
    expect(new Set(answers.map(({ verdict }) => verdict))).toEqual(new Set(['acquired']));
    const half = crowd.filter((_, i) => i % 2 === 0);
    await Promise.all(half.map(finish));
    const copies = await Promise.all(crowd.map((request) => opened.store.acquire(again(request))));
    expect(copies.map(({ verdict }) => verdict)).toEqual(crowd.map((_, i) => (i % 2 === 0 ? 'duplicate' : 'busy')));
  });

  describe('under the ordering guard', () => {
    const ordered = (subject: string, sequence: number, type = 'order.status') =>
      requestFor({ type, body: `${subject} ${sequence}`, order: { subject, sequence } });
    let counter = 0;
    const freshSubject = () => `ORDER ${(counter += 1)} ${performance.now()}`;

    test('R074: an older state is stale once a newer one is done, and the newest may be done again by another id', async () => {
      const subject = freshSubject();
      const newer = ordered(subject, 5);
      await opened.store.acquire(newer);
      await finish(newer);
      expect(await opened.store.acquire(ordered(subject, 4))).toEqual({ verdict: 'stale' });
      expect(await opened.store.acquire(again(newer))).toEqual({ verdict: 'duplicate' });
      expect(await opened.store.acquire(ordered(subject, 5))).toMatchObject({ verdict: 'acquired' });
    });

    test('one state of a subject runs at a time, whatever its type', async () => {
      const subject = freshSubject();
      const first = ordered(subject, 1);
      await opened.store.acquire(first);
      expect(await opened.store.acquire(ordered(subject, 2, 'order.closed'))).toMatchObject({ verdict: 'busy' });
      expect(await opened.store.acquire(ordered(freshSubject(), 1))).toMatchObject({ verdict: 'acquired' });
      await finish(first);
      expect(await opened.store.acquire(ordered(subject, 2, 'order.closed'))).toMatchObject({ verdict: 'acquired' });
    });

    test('a newest state that failed is not done, so an older one may still run', async () => {
      const subject = freshSubject();
      const newest = ordered(subject, 9);
      await opened.store.acquire(newest);
      expect(await opened.store.release(newest)).toBe(true);
      expect(await opened.store.acquire(ordered(subject, 3))).toMatchObject({ verdict: 'acquired' });
    });

    test('a subject whose holder died is free when the lease is over, and the late holder cannot renew', async () => {
      const subject = freshSubject();
      const dead = ordered(subject, 1);
      await opened.store.acquire(dead);
      await opened.endLeases();
      const next = ordered(subject, 2);
      expect(await opened.store.acquire(next)).toMatchObject({ verdict: 'acquired' });
      expect(await opened.store.renew(dead)).toBe(false);
      expect(await opened.store.renew(next)).toBe(true);
    });

    test('a renewal that fails because the subject was taken over extends nothing', async () => {
      const subject = freshSubject();
      const overtaken = ordered(subject, 2);
      await opened.store.acquire(overtaken);
      await opened.endLeases();
      const next = ordered(subject, 1);
      await opened.store.acquire(next);
      expect(await opened.store.renew(overtaken)).toBe(false);
      await finish(next);
      expect(await opened.store.acquire(again(overtaken))).toMatchObject({ verdict: 'acquired', attempt: 2 });
    });

    test('an older state that finishes late does not push the newest back', async () => {
      const subject = freshSubject();
      const late = ordered(subject, 1);
      await opened.store.acquire(late);
      await opened.endLeases();
      const newest = ordered(subject, 2);
      await opened.store.acquire(newest);
      await finish(newest);
      await opened.store.complete(late);
      expect(await opened.store.acquire(ordered(subject, 1))).toEqual({ verdict: 'stale' });
    });

    test('the largest sequences are told apart', async () => {
      const subject = freshSubject();
      const largest = ordered(subject, Number.MAX_SAFE_INTEGER);
      await opened.store.acquire(largest);
      await finish(largest);
      expect(await opened.store.acquire(ordered(subject, Number.MAX_SAFE_INTEGER - 1))).toEqual({ verdict: 'stale' });
    });

    test('a refusal by the guard leaves nothing behind', async () => {
      const subject = freshSubject();
      const running = ordered(subject, 1);
      await opened.store.acquire(running);
      const waiting = ordered(subject, 2);
      expect(await opened.store.acquire(waiting)).toMatchObject({ verdict: 'busy' });
      await finish(running);
      const corrected = again(waiting, { digest: digestOf('corrected') });
      expect(await opened.store.acquire(corrected)).toMatchObject({ verdict: 'acquired', attempt: 1 });
    });

    test('forgetting with the subject also forgets the newest sequence', async () => {
      const subject = freshSubject();
      const newest = ordered(subject, 8);
      await opened.store.acquire(newest);
      await finish(newest);
      expect(await opened.store.forget(newest.key, subject)).toBe(true);
      expect(await opened.store.acquire(ordered(subject, 1))).toMatchObject({ verdict: 'acquired' });
    });
  });
});
