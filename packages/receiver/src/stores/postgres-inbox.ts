import { ConfigurationError, InboxUnavailableError } from '../errors.js';
import { isSurelyNoTransaction, queryOf, type PostgresHandle, type Query } from './postgres-query.js';
import { inboxSql, type InboxSql } from './postgres-sql.js';
import type {
  Acquired,
  ClaimRequest,
  Completed,
  CompleteOptions,
  InboxTransaction,
  NotificationKey,
  RecordedIn,
  Store,
} from './store.js';

export interface PostgresInboxOptions {
  /** The merchant's database: a pg `Pool`, a postgres.js `sql`, a drizzle database or a PGlite. It stays yours. */
  database: PostgresHandle;
  /** Schema of the three tables. Default: the first of the connection's search path. */
  schema?: string;
}

/** Records in the merchant's own database, each in the transaction that makes the effect. */
export interface PostgresInbox extends Store {
  recordIn(tx: InboxTransaction, request: ClaimRequest): Promise<RecordedIn>;
  /** Creates the tables if they are missing. Safe to call from every process at every start. */
  migrate(): Promise<void>;
  /** The statement that `migrate` runs, for those who run their own. */
  readonly ddl: string;
  /** Deletes records older than this, at most `limit`. Without it records are kept for ever. @returns how many went. */
  prune(options: { olderThanMs: number; limit?: number }): Promise<number>;
}

/**
 * The store whose effect is exactly once: `await ctx.inbox(tx)` writes the record in the handler's own transaction, so effect and
 * record commit together or not at all, even when the process dies between commit and reply.
 *
 * A handler may still be *started* twice; the second one's transaction finds the row and rolls back. Effects outside that
 * transaction (a mail, a call to another system) are not covered.
 *
 * @throws {@link ConfigurationError} if `database` is no client we know, or `schema` is not a plain name.
 */
export function postgresInbox(options: PostgresInboxOptions): PostgresInbox {
  const given = options.database as PostgresHandle | undefined;
  const query = given === undefined ? undefined : queryOf(given);
  if (query === undefined) {
    throw new ConfigurationError({
      option: 'database',
      problem: 'must be a pg Pool, a postgres.js sql, a drizzle database or a PGlite',
    });
  }
  if (options.schema !== undefined && !/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(options.schema)) {
    throw new ConfigurationError({ option: 'schema', problem: 'must be a plain name' });
  }
  return new Inbox(query, inboxSql(options.schema));
}

const encode = encodeURIComponent;

/** Here, where no slot has to be shared, a record is named the same whether its type is ordered or not. */
function keyText({ source, to, type, bizId }: NotificationKey): string {
  return `${encode(source)}:${encode(to)}:${encode(type)}:${encode(bizId)}`;
}

/** `#` cannot start an encoded type, so no record is named like this. */
function subjectText({ source, to }: NotificationKey, subject: string): string {
  return `${encode(source)}:${encode(to)}:#${encode(subject)}`;
}

class Inbox implements PostgresInbox {
  readonly kind = 'postgres-inbox';
  readonly ddl: string;

  constructor(
    private readonly query: Query,
    private readonly sql: InboxSql,
  ) {
    this.ddl = sql.migrate;
  }

  async migrate(): Promise<void> {
    await this.query(this.sql.migrate, []);
  }

  async acquire(request: ClaimRequest): Promise<Acquired> {
    // A refusal can be outdated by the time it is explained; then the claim is simply asked for again.
    for (let round = 0; round < 5; round += 1) {
      const claimed = await this.#claim(request);
      if (claimed !== undefined) return claimed;
      const refused = await this.#explain(request);
      if (refused !== undefined) return refused;
    }
    return { verdict: 'busy', remainingMs: request.leaseMs };
  }

  async #claim(request: ClaimRequest): Promise<Acquired | undefined> {
    const { order } = request;
    const parameters = [keyText(request.key), request.digest, request.token, String(request.leaseMs)];
    const [row] =
      order === undefined
        ? await this.query(this.sql.acquire, parameters)
        : await this.query(this.sql.acquireOrdered, [
            ...parameters,
            subjectText(request.key, order.subject),
            String(order.sequence),
          ]);
    if (row === undefined) return undefined;
    return { verdict: 'acquired', attempt: Number(row['attempt']), fence: Number(row['fence']) };
  }

  async #explain(request: ClaimRequest): Promise<Acquired | undefined> {
    const { key, order, digest } = request;
    const subject = order === undefined ? '' : subjectText(key, order.subject);
    const [row = {}] = await this.query(this.sql.explain, [
      keyText(key),
      subject,
      String(order?.sequence ?? 0),
      request.token,
    ]);
    if (typeof row['recorded'] === 'string') {
      return { verdict: row['recorded'] === digest ? 'duplicate' : 'conflict' };
    }
    if (typeof row['digest'] === 'string' && row['digest'] !== digest) return { verdict: 'conflict' };
    const remainingMs = Number(row['remaining'] ?? 0);
    if (remainingMs > 0) return { verdict: 'busy', remainingMs };
    if (row['newer'] === 'true') return { verdict: 'stale' };
    const guardedMs = Number(row['guarded'] ?? 0);
    return guardedMs > 0 ? { verdict: 'busy', remainingMs: guardedMs } : undefined;
  }

  async renew(request: ClaimRequest): Promise<boolean> {
    const rows = await this.query(this.sql.renew, [...this.#held(request), String(request.leaseMs)]);
    return rows.length === (request.order === undefined ? 1 : 2);
  }

  async release(request: ClaimRequest): Promise<boolean> {
    const rows = await this.query(this.sql.release, this.#held(request));
    return rows.some((row) => row['key'] === keyText(request.key));
  }

  async complete(request: ClaimRequest, options: CompleteOptions = {}): Promise<Completed> {
    if (options.withoutEffect === true) await this.#record(this.query, request);
    const [row] = await this.query(this.sql.complete, this.#held(request));
    if (row === undefined) return 'missing';
    return row['digest'] === request.digest ? 'done' : 'conflict';
  }

  recordIn(tx: InboxTransaction, request: ClaimRequest): Promise<RecordedIn> {
    const query = isSurelyNoTransaction(tx) ? undefined : queryOf(tx);
    if (query === undefined) throw new InboxUnavailableError({ store: 'postgres-inbox', given: 'no transaction' });
    return this.#record(query, request);
  }

  async #record(query: Query, request: ClaimRequest): Promise<RecordedIn> {
    const { key, digest, order } = request;
    // Waits for a concurrent transaction that has the same row, then sees whether it committed.
    const [mine] = await query(this.sql.record, [keyText(key), digest]);
    if (mine === undefined) {
      const [row] = await query(this.sql.recorded, [keyText(key)]);
      return row !== undefined && row['digest'] !== digest ? 'conflict' : 'duplicate';
    }
    if (order === undefined) return 'recorded';
    const [newest] = await query(this.sql.advance, [subjectText(key, order.subject), String(order.sequence)]);
    return newest === undefined ? 'stale' : 'recorded';
  }

  async forget(key: NotificationKey, subject?: string): Promise<boolean> {
    const guard = subject === undefined ? '' : subjectText(key, subject);
    return (await this.query(this.sql.forget, [keyText(key), guard])).length > 0;
  }

  async prune({ olderThanMs, limit = 1_000 }: { olderThanMs: number; limit?: number }): Promise<number> {
    const [row] = await this.query(this.sql.prune, [String(olderThanMs), String(limit)]);
    return Number(row?.['pruned'] ?? 0);
  }

  #held({ key, order, token }: ClaimRequest): [string, string, string] {
    const record = keyText(key);
    return [record, order === undefined ? record : subjectText(key, order.subject), token];
  }
}
