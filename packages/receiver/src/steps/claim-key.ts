import type { ReplyReason } from '@bestnotify/protocol';
import type { ResolvedOptions } from '../options.js';
import type { Acquired, ClaimRequest } from '../stores/store.js';
import { within } from '../within.js';

export type ClaimOutcome =
  /** `askedAtMs`, by `performance.now()`: from then on the lease is counted. */
  | { verdict: 'acquired'; attempt: number; fence: number; askedAtMs: number }
  | { refused: ReplyReason; retryAfterMs?: number; error?: unknown };

/** Asks the store whether this run may start. A store that cannot say is never taken for a yes. */
export async function claimKey(request: ClaimRequest, options: ResolvedOptions): Promise<ClaimOutcome> {
  const { store, storeTimeoutMs, leaseMs } = options;
  // A claim whose answer never reached us would keep others out until its lease is over.
  const giveBack = (): void => void store.release(request).catch(() => undefined);
  const askedAtMs = performance.now();
  let acquired: Acquired;
  try {
    // An answer that comes after a whole lease says nothing any more.
    acquired = await within(store.acquire(request), Math.min(storeTimeoutMs, leaseMs), 'acquire', (late) => {
      if (late.verdict === 'acquired') giveBack();
    });
  } catch (error) {
    giveBack();
    return { refused: 'store-unavailable', error, retryAfterMs: storeTimeoutMs };
  }
  switch (acquired.verdict) {
    case 'acquired':
      return { verdict: 'acquired', attempt: acquired.attempt, fence: acquired.fence, askedAtMs };
    case 'busy':
      // The other run either ends by its deadline or loses its lease; asking again before that is of no use.
      return { refused: 'in-progress', retryAfterMs: Math.min(acquired.remainingMs, options.handlerTimeoutMs) };
    case 'conflict':
      return { refused: 'payload-conflict' };
    case 'duplicate':
    case 'stale':
      return { refused: acquired.verdict };
    default:
      return acquired satisfies never;
  }
}
