import type { ReplyReason } from '@bestnotify/protocol';
import type { Counters } from '../counters.js';
import { InboxRowMissingError, isAlreadyRecorded } from '../errors.js';
import { tell } from '../hooks.js';
import type { Lease } from '../lease.js';
import type { ResolvedOptions } from '../options.js';
import type { ClaimRequest } from '../stores/store.js';
import { within } from '../within.js';
import type { Ended } from './run-handler.js';

/** What the request is answered with. */
export interface Recorded {
  reason: ReplyReason;
  error?: unknown;
  retryAfterMs?: number;
}

export interface RecordParts {
  options: ResolvedOptions;
  request: ClaimRequest;
  /** The notification's id, for hooks. */
  id: string;
  lease: Lease;
  counters: Counters;
  /** Takes work that outlives the reply, so that a stopping process can wait for it. */
  keep: (work: Promise<unknown>) => void;
}

/** Writes down how the handler ended, gives up the claim, and says which row answers. */
export async function recordOutcome(ended: Ended, parts: RecordParts): Promise<Recorded> {
  switch (ended.kind) {
    case 'done':
    case 'ignored':
      return recordDone(ended.kind === 'done' ? 'handled' : 'ignored', parts);
    case 'later':
      await giveBack(parts);
      return { reason: 'retry-later', retryAfterMs: ended.afterMs };
    case 'failed':
      await giveBack(parts);
      return { reason: reasonOf(ended.error), error: ended.error };
    default:
      return ended satisfies never;
  }
}

function reasonOf(error: unknown): ReplyReason {
  if (!isAlreadyRecorded(error)) return 'handler-error';
  return error.because === 'conflict' ? 'payload-conflict' : error.because;
}

async function recordDone(reason: 'handled' | 'ignored', parts: RecordParts): Promise<Recorded> {
  const { options, request, lease } = parts;
  const { store, storeTimeoutMs } = options;
  try {
    const withoutEffect = reason === 'ignored';
    const completed = await within(store.complete(request, { withoutEffect }), storeTimeoutMs, 'complete');
    lease.stop();
    if (completed === 'done') return { reason };
    // Two payloads took effect under one id, because the record was lost in between: as loud as can be.
    if (completed === 'conflict') return { reason: 'payload-conflict' };
    await giveBack(parts);
    return { reason: 'handler-error', error: new InboxRowMissingError() };
  } catch (error) {
    // With an inbox the record was written by the handler or not at all, and only its database knows.
    if (store.recordIn !== undefined) {
      lease.stop();
      return { reason: 'store-unavailable', error };
    }
    // The effect has happened. Saying `fail` would only make the sender repeat it; the lease keeps copies out meanwhile.
    parts.keep(recordLater(parts));
    return { reason };
  }
}

/** Tries to write the record until it is written or the claim is over. The heartbeat has stopped by then: this is the last lease. */
async function recordLater(parts: RecordParts): Promise<void> {
  const { options, request, lease, counters } = parts;
  lease.stop();
  let waitMs = 50;
  while (lease.remainingMs() > 0) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    waitMs = Math.min(waitMs * 2, 1_000);
    try {
      const completed = await within(options.store.complete(request), options.storeTimeoutMs, 'complete');
      if (completed === 'conflict') tellLateConflict(parts);
      return;
    } catch {
      // The next round says whether it was the last.
    }
  }
  counters.recordsLost += 1;
  tell(options.onWarning, {
    code: 'RECEIVER_RECORD_LOST',
    message: `A handled notification (${request.key.type} ${request.key.bizId}) could not be recorded before its lease was over; a copy of it would run again.`,
  });
}

/** The sender has been told `success` already, so here is the only place that can say it. */
function tellLateConflict({ options, request: { key }, id }: RecordParts): void {
  tell(options.onConflict, { key, id });
  tell(options.onWarning, {
    code: 'RECEIVER_LATE_CONFLICT',
    message: `Two payloads took effect under one business id (${key.type} ${key.bizId}): this one was handled while its record could not be written, and by then the record held the other.`,
  });
}

async function giveBack({ options, request, lease }: RecordParts): Promise<void> {
  lease.stop();
  // A failure to give back is no news: the lease ends by itself.
  await within(options.store.release(request), options.storeTimeoutMs, 'release').catch(() => false);
}

/** After the answer was `fail`: holds the claim while the handler still runs, for one more lease, and records how it ended. */
export async function recordGivenUp(ended: Promise<Ended>, parts: RecordParts): Promise<void> {
  const { options, lease } = parts;
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<'over'>((resolve) => {
    timer = setTimeout(() => resolve('over'), options.leaseMs);
    timer.unref();
  });
  const first = await Promise.race([ended, patience]);
  clearTimeout(timer);
  if (first !== 'over') {
    await recordOutcome(first, parts);
    return;
  }
  // A handler that never ends must not hold its notification, or a stopping process, for ever: unrenewed, the lease runs out.
  lease.stop();
  void ended.then((late) => recordOutcome(late, parts));
}
