/** What one business event is called on the receiving side. Two refunds of one order differ in `bizId`. */
export interface NotificationKey {
  source: string;
  to: string;
  type: string;
  bizId: string;
}

/** The place of a notification among those about the same subject, for types under the ordering guard. */
export interface Order {
  subject: string;
  /** Integer from 0 to 2^53 - 1; a larger one is newer. */
  sequence: number;
}

/** Who asks for a key, and for which exact payload. */
export interface ClaimRequest {
  key: NotificationKey;
  /** Lower-case hex SHA-256 of the raw body. */
  digest: string;
  /** Unique to one run of one handler. Asking again with the same token is how a lost answer is survived. */
  token: string;
  /** How long the claim lasts unless it is renewed, in ms. */
  leaseMs: number;
  /** How long the record is kept after its last change, in ms. */
  retentionMs: number;
  /** Present for types under the ordering guard only. */
  order?: Order;
}

export type Acquired =
  | { verdict: 'acquired'; attempt: number; fence: number }
  | { verdict: 'duplicate' }
  | { verdict: 'conflict' }
  | { verdict: 'stale' }
  | { verdict: 'busy'; remainingMs: number };

/**
 * - `done`: the record says so now.
 * - `conflict`: the record holds another payload; nothing was written.
 * - `missing`: only the inbox store: the handler resolved, but its transaction left no row.
 */
export type Completed = 'done' | 'conflict' | 'missing';

export interface CompleteOptions {
  /** The handler found that there was nothing to do, so an inbox row is written here instead of in the handler's transaction. */
  withoutEffect?: boolean;
}

/** A transaction handle of drizzle, postgres.js, pg or PGlite; the inbox store tells them apart. */
export type InboxTransaction = object;

/**
 * Remembers which notifications are running and which are done. Every verb is one atomic step and safe to repeat; a verb that
 * cannot reach its database rejects, and the receiver answers 503. Time is the store's own, never the caller's.
 */
export interface Store {
  /** For messages, and for the warning that comes with a store that one process cannot share. */
  readonly kind: string;
  /** Decides whether this run may start. In order: another digest, done, my own token, a live lease, the ordering guard. */
  acquire(request: ClaimRequest): Promise<Acquired>;
  /** Extends the lease. False when the claim is no longer ours. */
  renew(request: ClaimRequest): Promise<boolean>;
  /** Writes down that the handler finished. Done stays done, also when it is recorded late. */
  complete(request: ClaimRequest, options?: CompleteOptions): Promise<Completed>;
  /** Gives the claim up after a failure. Digest, attempts and fence stay. False when the claim is no longer ours. */
  release(request: ClaimRequest): Promise<boolean>;
  /** Drops the record, so that the same event runs again. For a merchant restored from a backup. False when there was none. */
  forget(key: NotificationKey, subject?: string): Promise<boolean>;
  /** Writes the record in the handler's own transaction. Only the inbox store has it. */
  recordIn?(tx: InboxTransaction, request: ClaimRequest): Promise<RecordedIn>;
}

/** What the handler's own transaction found: its row is new, or somebody else's was there first. */
export type RecordedIn = 'recorded' | 'duplicate' | 'conflict' | 'stale';
