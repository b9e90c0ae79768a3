import { replies, type ReplyReason, type SignatureRefusal } from '@bestnotify/protocol';
import type { ReceiverStats } from './hooks.js';

/** The numbers behind `receiver.stats()`. */
export class Counters {
  readonly replies = Object.fromEntries(Object.keys(replies).map((reason) => [reason, 0])) as Record<
    ReplyReason,
    number
  >;
  readonly signatures: Record<SignatureRefusal, number> = {
    missing: 0,
    malformed: 0,
    'too-old': 0,
    'too-new': 0,
    'no-match': 0,
  };
  running = 0;
  leasesLost = 0;
  recordsLost = 0;
  lastAcceptedAtMs: number | undefined;

  snapshot(): ReceiverStats {
    return {
      lastAcceptedAt: this.lastAcceptedAtMs === undefined ? undefined : new Date(this.lastAcceptedAtMs),
      replies: { ...this.replies },
      signatures: { ...this.signatures },
      running: this.running,
      leasesLost: this.leasesLost,
      recordsLost: this.recordsLost,
    };
  }
}
