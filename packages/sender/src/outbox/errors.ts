import { SenderError } from '../errors.js';
import type { NotificationState } from './states.js';

/** A notification whose members cannot be encoded or are outside their grammar. Nothing was written. */
export class NotificationRefusedError extends SenderError {
  override readonly name = 'NotificationRefusedError';
  readonly code = 'SENDER_NOTIFICATION_REFUSED';
  /** The member to change: `type`, `bizId`, `data`, … */
  readonly member: string;

  constructor(facts: { member: string; problem: string; cause?: unknown }) {
    super(`Notification member ${facts.member} ${facts.problem}. Nothing was written.`, { cause: facts.cause });
    this.member = facts.member;
  }
}

/** The encoded body is over the protocol's limit. Nothing was written. */
export class BodyTooLargeError extends SenderError {
  override readonly name = 'BodyTooLargeError';
  readonly code = 'SENDER_BODY_TOO_LARGE';
  readonly sizeBytes: number;

  constructor(facts: { sizeBytes: number; limitBytes: number }) {
    super(
      `Body is ${facts.sizeBytes} bytes; the limit is ${facts.limitBytes}. Send an id and let the receiver fetch the rest.`,
    );
    this.sizeBytes = facts.sizeBytes;
  }
}

/** No endpoint of that id exists for this source. Nothing was written. */
export class UnknownEndpointError extends SenderError {
  override readonly name = 'UnknownEndpointError';
  readonly code = 'SENDER_UNKNOWN_ENDPOINT';
  readonly endpoint: string;

  constructor(facts: { endpoint: string; source: string }) {
    super(
      `Endpoint ${facts.endpoint} does not exist for source ${facts.source}. Create it with endpoints.put, or give { to, url, secret }.`,
    );
    this.endpoint = facts.endpoint;
  }
}

/** The same business event was enqueued before with other bytes. The first one stays as it is. */
export class PayloadConflictError extends SenderError {
  override readonly name = 'PayloadConflictError';
  readonly code = 'SENDER_PAYLOAD_CONFLICT';
  /** The id of the notification that exists. */
  readonly id: string;
  readonly bizId: string;

  constructor(facts: { id: string; endpoint: string; type: string; bizId: string }) {
    super(
      `${facts.type} ${facts.bizId} for endpoint ${facts.endpoint} was enqueued before as ${facts.id} with another body. A changed fact needs a business id of its own.`,
    );
    this.id = facts.id;
    this.bizId = facts.bizId;
  }
}

/** A direct `{ to, url, secret }` whose `to` is known with another secret. */
export class SecretMismatchError extends SenderError {
  override readonly name = 'SecretMismatchError';
  readonly code = 'SENDER_SECRET_MISMATCH';
  readonly endpoint: string;

  constructor(facts: { endpoint: string }) {
    super(
      `Endpoint ${facts.endpoint} exists with another secret. Leave the secret out to use the stored one, or change it with endpoints.put.`,
    );
    this.endpoint = facts.endpoint;
  }
}

/** A secret that is live on another endpoint: whoever holds it could show one merchant's notifications to the other. */
export class SecretInUseError extends SenderError {
  override readonly name = 'SecretInUseError';
  readonly code = 'SENDER_SECRET_IN_USE';
  readonly otherEndpoint: string;

  constructor(facts: { endpoint: string; otherEndpoint: string }) {
    super(
      `The secret given for endpoint ${facts.endpoint} is live on endpoint ${facts.otherEndpoint}. Generate one per endpoint, or give both the same owner.`,
    );
    this.otherEndpoint = facts.otherEndpoint;
  }
}

/** A stored secret that cannot be opened. Nothing is sent with it, and nothing is charged. */
export class SecretSealError extends SenderError {
  override readonly name = 'SecretSealError';
  readonly code = 'SENDER_SECRET_SEAL';
  readonly endpoint: string;

  constructor(facts: { endpoint: string; keyId: string; problem: string; cause?: unknown }) {
    super(
      `Secret ${facts.keyId} of endpoint ${facts.endpoint} cannot be opened: ${facts.problem}. Give that key in secretStorage.keys, or put the secret anew.`,
      { cause: facts.cause },
    );
    this.endpoint = facts.endpoint;
  }
}

/** No notification of that id, or only its key row is left after pruning. */
export class UnknownNotificationError extends SenderError {
  override readonly name = 'UnknownNotificationError';
  readonly code = 'SENDER_UNKNOWN_NOTIFICATION';
  readonly id: string;

  constructor(facts: { id: string; isPruned?: boolean }) {
    super(
      facts.isPruned === true
        ? `Notification ${facts.id} has been pruned or erased: its body is gone, so it cannot be sent again. Enqueue the fact under a new business id.`
        : `Notification ${facts.id} does not exist. List notifications by business id to find the right one.`,
    );
    this.id = facts.id;
  }
}

/** An action that the notification's current state does not allow. Nothing changed. */
export class IllegalStateError extends SenderError {
  override readonly name = 'IllegalStateError';
  readonly code = 'SENDER_ILLEGAL_STATE';
  readonly id: string;
  readonly state: NotificationState;
  /** True if a worker holds it right now. */
  readonly isClaimed: boolean;

  constructor(facts: { id: string; action: string; state: NotificationState; isClaimed: boolean; allowed: string }) {
    super(
      `Cannot ${facts.action} notification ${facts.id}: it is ${facts.state}${facts.isClaimed ? ' and being sent right now' : ''}. ${facts.allowed}`,
    );
    this.id = facts.id;
    this.state = facts.state;
    this.isClaimed = facts.isClaimed;
  }
}

/** A resend that the merchant's receiver may no longer recognise as a duplicate. */
export class DuplicateEffectError extends SenderError {
  override readonly name = 'DuplicateEffectError';
  readonly code = 'SENDER_DUPLICATE_EFFECT';
  readonly id: string;

  constructor(facts: { id: string; because: 'closed' | 'outlived-retention' }) {
    super(
      facts.because === 'closed'
        ? `Notification ${facts.id} was closed because it was compensated by hand. Sending it again could repeat the effect: pass acceptDuplicateEffect: true if that is meant.`
        : `Notification ${facts.id} was first sent over 6 days ago and may have arrived; the receiver may have forgotten it. Pass acceptDuplicateEffect: true if a second effect is acceptable.`,
    );
    this.id = facts.id;
  }
}

/** The database was migrated by a newer release in a way that this one must not run on. */
export class SchemaTooNewError extends SenderError {
  override readonly name = 'SchemaTooNewError';
  readonly code = 'SENDER_SCHEMA_TOO_NEW';
  readonly schemaVersion: number;
  readonly knownVersion: number;

  constructor(facts: { schema: string; schemaVersion: number; knownVersion: number }) {
    super(
      `Schema ${facts.schema} is at version ${facts.schemaVersion}; this release knows ${facts.knownVersion}. Upgrade @bestnotify/sender on this host.`,
    );
    this.schemaVersion = facts.schemaVersion;
    this.knownVersion = facts.knownVersion;
  }
}

/** The tables are not there yet. */
export class SchemaMissingError extends SenderError {
  override readonly name = 'SchemaMissingError';
  readonly code = 'SENDER_SCHEMA_MISSING';

  constructor(facts: { schema: string; cause: unknown }) {
    super(`Schema ${facts.schema} has no outbox tables. Call sender.migrate() once before anything else.`, {
      cause: facts.cause,
    });
  }
}

/** The sender was closed, and what was called needs its database or its workers. Nothing was written. */
export class SenderClosedError extends SenderError {
  override readonly name = 'SenderClosedError';
  readonly code = 'SENDER_CLOSED';

  constructor() {
    super(
      'This sender is closed; nothing was written. Call close() when nothing uses it any more, or make another one with createSender.',
    );
  }
}

/** Another process has the embedded database open; two would silently lose rows. */
export class DatabaseLockedError extends SenderError {
  override readonly name = 'DatabaseLockedError';
  readonly code = 'SENDER_DATABASE_LOCKED';
  readonly directory: string;

  constructor(facts: { directory: string; holder: string }) {
    super(
      `The embedded database in ${facts.directory} is open in ${facts.holder}. It serves one process: stop that one, or use a PostgreSQL server (DATABASE_URL).`,
    );
    this.directory = facts.directory;
  }
}

/** PostgreSQL did not answer in time. Whether the statement took effect is unknown, unless it never got a connection or a transaction. */
export class DatabaseTimeoutError extends SenderError {
  override readonly name = 'DatabaseTimeoutError';
  readonly code = 'SENDER_DATABASE_TIMEOUT';
  readonly timeoutMs: number;
  /** False if no connection was free or no transaction could be begun: nothing was written then. */
  readonly isBegun: boolean;

  constructor(facts: { timeoutMs: number; isBegun?: boolean }) {
    super(
      facts.isBegun === false
        ? `No connection was free, or no transaction could be begun, within ${facts.timeoutMs} ms; nothing was written. Check the connection, or whether the pool has one to spare: the first notify for a { to, url, secret } needs one beside its caller's.`
        : `PostgreSQL did not answer within ${facts.timeoutMs} ms; whether the statement took effect is unknown. Check the connection, or raise queryTimeoutMs.`,
    );
    this.timeoutMs = facts.timeoutMs;
    this.isBegun = facts.isBegun ?? true;
  }
}
