const brand = Symbol.for('@bestnotify/receiver/error');

/** Base of every error this package throws or hands to a hook. Branch on `code`, never on `message`. */
export abstract class ReceiverError extends Error {
  abstract readonly code:
    | 'RECEIVER_CONFIGURATION'
    | 'RECEIVER_RAW_BODY_MISSING'
    | 'RECEIVER_STORE_FULL'
    | 'RECEIVER_STORE_TIMEOUT'
    | 'RECEIVER_HANDLER_TIMEOUT'
    | 'RECEIVER_LEASE_LOST'
    | 'RECEIVER_INBOX_UNAVAILABLE'
    | 'RECEIVER_INBOX_ROW_MISSING'
    | 'RECEIVER_ALREADY_RECORDED'
    | 'RECEIVER_NOT_IDENTIFIED'
    | 'RECEIVER_NO_HANDLER';
  readonly [brand] = true;
}

/** True for our errors even when two copies of the package are installed. */
export function isReceiverError(value: unknown): value is ReceiverError {
  return typeof value === 'object' && value !== null && brand in value;
}

/** Options that cannot work. Thrown at construction, never while running. */
export class ConfigurationError extends ReceiverError {
  override readonly name = 'ConfigurationError'; // a literal: class names do not survive minifiers
  readonly code = 'RECEIVER_CONFIGURATION';
  readonly option: string;

  constructor(facts: { option: string; problem: string; cause?: unknown }) {
    super(`Option ${facts.option} ${facts.problem}.`, { cause: facts.cause });
    this.option = facts.option;
  }
}

/** Another parser read the request before us, and what it left is not the bytes that were signed. */
export class RawBodyMissingError extends ReceiverError {
  override readonly name = 'RawBodyMissingError';
  readonly code = 'RECEIVER_RAW_BODY_MISSING';

  constructor() {
    super(
      'Another parser has read the body, so the signed bytes are gone. Mount the receiver before express.json() and its like, or keep the bytes with verify: captureRawBody.',
    );
  }
}

/** The memory store is at its limit and every record in it is running. */
export class StoreFullError extends ReceiverError {
  override readonly name = 'StoreFullError';
  readonly code = 'RECEIVER_STORE_FULL';

  constructor(facts: { maxRecords: number }) {
    super(`All ${facts.maxRecords} records of the memory store are running. Raise maxRecords or use a shared store.`);
  }
}

/** The store did not answer in time. The claim is given back when its answer comes late. */
export class StoreTimeoutError extends ReceiverError {
  override readonly name = 'StoreTimeoutError';
  readonly code = 'RECEIVER_STORE_TIMEOUT';

  constructor(facts: { verb: string; timeoutMs: number }) {
    super(
      `The store did not answer ${facts.verb} within ${facts.timeoutMs} ms. Is the Redis or the database behind it running and reachable?`,
    );
  }
}

/** The handler did not finish in time; the reply was `fail`. It may still be running: watch `ctx.signal`. */
export class HandlerTimeoutError extends ReceiverError {
  override readonly name = 'HandlerTimeoutError';
  readonly code = 'RECEIVER_HANDLER_TIMEOUT';
  readonly timeoutMs: number;

  constructor(facts: { timeoutMs: number }) {
    super(
      `The handler did not finish within ${facts.timeoutMs} ms. Store the event and do slow work later, or raise handlerTimeoutMs while it stays below the sender's timeout.`,
    );
    this.timeoutMs = facts.timeoutMs;
  }
}

/** Another run may have taken over while this handler worked. */
export class LeaseLostError extends ReceiverError {
  override readonly name = 'LeaseLostError';
  readonly code = 'RECEIVER_LEASE_LOST';

  constructor() {
    super(
      'The lease on this notification ended before the handler did, so another copy may be running. Stop the work.',
    );
  }
}

/** `ctx.inbox` was given something that is not an open transaction, or the store keeps no records in the merchant's database. */
export class InboxUnavailableError extends ReceiverError {
  override readonly name = 'InboxUnavailableError';
  readonly code = 'RECEIVER_INBOX_UNAVAILABLE';

  constructor(facts: { store: string; given?: string }) {
    super(
      facts.given === undefined
        ? `The ${facts.store} store has no inbox. Use postgresInbox to record a notification in your own transaction.`
        : `ctx.inbox was given ${facts.given}. Pass the open transaction that makes the effect, or the record would commit without it.`,
    );
  }
}

/** With `postgresInbox` the handler resolved, but no committed transaction holds the record. */
export class InboxRowMissingError extends ReceiverError {
  override readonly name = 'InboxRowMissingError';
  readonly code = 'RECEIVER_INBOX_ROW_MISSING';

  constructor() {
    super(
      'The handler resolved without a committed inbox row. Call await ctx.inbox(tx) in the transaction that makes the effect, and commit it.',
    );
  }
}

/**
 * `ctx.inbox(tx)` found that this event needs no effect any more. Let it pass: it rolls the transaction back, and the receiver answers
 * with `because`.
 */
export class AlreadyRecordedError extends ReceiverError {
  override readonly name = 'AlreadyRecordedError';
  readonly code = 'RECEIVER_ALREADY_RECORDED';
  readonly because: 'duplicate' | 'conflict' | 'stale';

  constructor(facts: { because: 'duplicate' | 'conflict' | 'stale' }) {
    super(`The inbox already answers this notification: ${facts.because}. Let this error leave the transaction.`);
    this.because = facts.because;
  }
}

export function isAlreadyRecorded(value: unknown): value is AlreadyRecordedError {
  return isReceiverError(value) && value.code === 'RECEIVER_ALREADY_RECORDED';
}

/** The verified body does not say which event it is, or says it outside the grammar. */
export class NotIdentifiedError extends ReceiverError {
  override readonly name = 'NotIdentifiedError';
  readonly code = 'RECEIVER_NOT_IDENTIFIED';

  constructor(facts: { problem: string; cause?: unknown }) {
    super(`The notification cannot be identified: ${facts.problem}.`, { cause: facts.cause });
  }
}

/** A type without a handler, where `unhandled: 'fail'` was chosen. */
export class NoHandlerError extends ReceiverError {
  override readonly name = 'NoHandlerError';
  readonly code = 'RECEIVER_NO_HANDLER';
  readonly type: string;

  constructor(facts: { type: string }) {
    super(`No handler for type ${facts.type}. Register one with receiver.on, or choose unhandled: 'ignore'.`);
    this.type = facts.type;
  }
}
