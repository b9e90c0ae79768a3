import type { ReplyReason } from '@bestnotify/protocol';
import { within } from '../deadline.js';
import type { ResolvedOptions } from '../options.js';
import type { Acquired, ClaimRequest } from '../stores/store.js';

export type ClaimOutcome =
  | { verdict: 'acquired'; attempt: number; fence: number }
  | { refused: ReplyReason; retryAfterMs?: number; error?: unknown };

/** Asks the store whether this run may start. A store that cannot say is never taken for a yes. */
export async function claimKey(request: ClaimRequest, options: ResolvedOptions): Promise<ClaimOutcome> {
  const { store, storeTimeoutMs } = options;
  // A claim whose answer never reached us would keep others out until its lease is over.
  const giveBack = (): void => void store.release(request).catch(() => undefined);
  let acquired: Acquired;
  try {
    acquired = await within(store.acquire(request), storeTimeoutMs, 'acquire', (late) => {
      if (late.verdict === 'acquired') giveBack();
    });
  } catch (error) {
    giveBack();
    return { refused: 'store-unavailable', error, retryAfterMs: storeTimeoutMs };
  }
  switch (acquired.verdict) {
    case 'acquired':
      return acquired;
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
