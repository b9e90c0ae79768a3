import type { ReplyReason, SignatureRefusal } from '@bestnotify/protocol';
import type { NotificationKey } from './stores/store.js';
import type { Warning } from './warn.js';

/** A request that was refused before it became a notification. Holds no secret, no signature and nothing of the body. */
export interface InvalidFacts {
  reason: ReplyReason;
  /** Says what to look at: a missing header is named, a clock difference is given in seconds. */
  message: string;
  error: Error | undefined;
}

/** Told, never asked: what a hook throws is dropped, and the reply does not wait for it. */
export interface ReceiverHooks {
  /** Another payload came under a business id that is already known. Somebody must look: nobody reads a 422. */
  onConflict?: (facts: { key: NotificationKey; id: string }) => void;
  /** A signature, an audience or a body was refused. */
  onInvalid?: (facts: InvalidFacts) => void;
  /** A copy of a finished notification was absorbed. */
  onDuplicate?: (facts: { key: NotificationKey; id: string }) => void;
  /** A handler failed, timed out or lost its lease, or the store could not be reached. */
  onError?: (facts: { reason: ReplyReason; error: unknown; key: NotificationKey | undefined }) => void;
  /** Advice that belongs to no request. @default process.emitWarning */
  onWarning?: (warning: Warning) => void;
}

/** A picture of what this receiver has seen since it was made. Watch `lastAcceptedAt`: refusing everything is silent otherwise. */
export interface ReceiverStats {
  /** When a notification was last answered `success`. */
  lastAcceptedAt: Date | undefined;
  /** Requests by the reason in the reply. */
  replies: Record<ReplyReason, number>;
  /** What was wrong with signatures, in detail. */
  signatures: Record<SignatureRefusal, number>;
  /** Handlers running now. */
  running: number;
  leasesLost: number;
  /** Finished handlers whose record could not be written before the lease was over: a copy of those would run again. */
  recordsLost: number;
}

/** Runs a hook so that nothing it does can reach the request. */
export function tell<Facts>(hook: ((facts: Facts) => unknown) | undefined, facts: Facts): void {
  if (hook === undefined) return;
  try {
    const answer = hook(facts);
    if (answer instanceof Promise) answer.catch(() => undefined);
  } catch {
    // A failing log line must not turn a handled payment into a repeated one.
  }
}
