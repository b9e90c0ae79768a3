import { randomUUID } from 'node:crypto';
import { memoryStore, type ClaimRequest } from '@bestnotify/receiver';
import { describe, expect, test } from 'vitest';

const claim = (bizId: string, changes: Partial<ClaimRequest> = {}): ClaimRequest => ({
  key: { source: 's', to: 't', type: 'a', bizId },
  digest: 'aa',
  token: randomUUID(),
  leaseMs: 100,
  retentionMs: 1_000,
  ...changes,
});

describe('a memory store', () => {
  test('stays within its size: the oldest finished record makes room', async () => {
    const store = memoryStore({ maxRecords: 3 });
    for (let i = 0; i < 10; i += 1) {
      const request = claim(`P${i}`);
      await store.acquire(request);
      await store.complete(request);
    }
    expect(store.size()).toBe(3);
    expect(await store.acquire(claim('P9'))).toEqual({ verdict: 'duplicate' });
    expect(await store.acquire(claim('P0'))).toMatchObject({ verdict: 'acquired' });
  });

  test('never drops a running record to make room, and refuses by name when all of them run', async () => {
    const store = memoryStore({ maxRecords: 2 });
    await store.acquire(claim('P1'));
    await store.acquire(claim('P2'));
    await expect(store.acquire(claim('P3'))).rejects.toMatchObject({ code: 'RECEIVER_STORE_FULL' });
    expect(await store.acquire(claim('P1'))).toMatchObject({ verdict: 'busy' });
  });

  test('a lease and a retention end at their moment, and not before', async () => {
    let nowMs = 0;
    const store = memoryStore({}, { nowMs: () => nowMs });
    await store.acquire(claim('P1'));
    nowMs = 99;
    expect(await store.acquire(claim('P1'))).toEqual({ verdict: 'busy', remainingMs: 1 });
    nowMs = 100;
    const next = claim('P1');
    expect(await store.acquire(next)).toMatchObject({ verdict: 'acquired', attempt: 2 });
    await store.complete(next);
    nowMs = 1_099;
    expect(await store.acquire(claim('P1'))).toEqual({ verdict: 'duplicate' });
    nowMs = 1_100;
    expect(await store.acquire(claim('P1'))).toMatchObject({ verdict: 'acquired', attempt: 1 });
  });
});
