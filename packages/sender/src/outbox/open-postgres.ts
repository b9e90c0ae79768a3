import postgres from 'postgres';
import type { Database, Queryable, Row } from './database.js';
import { DatabaseTimeoutError } from './errors.js';
import { clientOptions, openSession, type Session } from './postgres-session.js';
import { openSessionPool } from './session-pool.js';
import { withDeadline } from './with-deadline.js';

/** How the sender's own PostgreSQL connections behave. */
export interface PostgresOptions {
  /** Most connections this sender opens. @default 10 */
  maxConnections?: number;
  /** How long one statement may take before it counts as unknown, in ms. @default 15_000 */
  queryTimeoutMs?: number;
  /** Whether statements are prepared. `auto` asks once: on a direct connection yes, through a pooler no. @default 'auto' */
  prepare?: boolean | 'auto';
}

export const postgresDefaults: Required<PostgresOptions> = {
  maxConnections: 10,
  queryTimeoutMs: 15_000,
  prepare: 'auto',
};

/** True for the URL of a PostgreSQL server. */
export function isPostgresUrl(value: unknown): value is string {
  return typeof value === 'string' && /^postgres(ql)?:\/\//.test(value);
}

/** A single connection to listen on. */
export function openListener(url: string): ReturnType<typeof postgres> {
  return postgres(url, {
    ...clientOptions,
    max: 1,
    prepare: false,
    connection: { application_name: 'bestnotify listener' },
  });
}

/** Opens a pool of our own on a PostgreSQL server; the driver is used directly because drizzle over it never prepares. */
export function openPostgres(url: string, options: PostgresOptions = {}): Database {
  const { maxConnections, queryTimeoutMs, prepare } = { ...postgresDefaults, ...options };
  let prepares = prepare === 'auto' ? undefined : prepare;
  let asking: Promise<boolean> | undefined;
  const pool = openSessionPool({
    open: (onLost) => openSession(url, { queryTimeoutMs, prepares: prepares === true, onLost }),
    size: maxConnections,
    waitMs: queryTimeoutMs,
  });
  const use = async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
    prepares ??= await (asking ??= isDirect(url, queryTimeoutMs).finally(() => (asking = undefined)));
    return pool.use(work);
  };
  return {
    isSingleSession: false,
    query: (text, parameters) => use((session) => session.query(text, parameters)),
    transaction: (work) => use((session) => inTransaction(session, work)),
    script: (text) => use((session) => session.script(text)),
    close: () => pool.close(),
  };
}

/**
 * Commits what `work` did, or nothing of it. The driver's own `begin` is left aside: it would write a rollback to a connection that is lost,
 * which ends the process, and let what follows run on a new connection, outside the transaction.
 */
async function inTransaction<T>(session: Session, work: (tx: Queryable) => Promise<T>): Promise<T> {
  await session.query('begin', []).catch((error: unknown) => {
    const { timeoutMs } = error instanceof DatabaseTimeoutError ? error : {};
    throw timeoutMs === undefined ? error : new DatabaseTimeoutError({ timeoutMs, isBegun: false });
  });
  let failure: { error: unknown } | undefined;
  let isOver = false;
  const query: Queryable['query'] = async (text, parameters) => {
    if (isOver) throw new Error('This transaction is over: its statements must be awaited in it.');
    try {
      return await session.query(text, parameters);
    } catch (error) {
      failure ??= { error };
      throw error;
    }
  };
  try {
    const result = await Promise.race([work({ query }), session.lost]);
    // PostgreSQL answers a commit of what failed as if it were one; nobody may take that for done.
    if (failure !== undefined) throw failure.error;
    isOver = true;
    await session.query('commit', []);
    return result;
  } catch (error) {
    isOver = true;
    await session.query('rollback', []).catch(() => undefined); // one that is lost has rolled back
    throw error;
  }
}

/**
 * Whether nothing stands between us and the server. A pooler gives out session numbers of its own, and each transaction may be
 * in another session, where nothing of ours is prepared, not even the driver's `commit`: verdicts were lost that way.
 */
async function isDirect(url: string, timeoutMs: number): Promise<boolean> {
  const client = postgres(url, { ...clientOptions, max: 1, prepare: false });
  try {
    const rows = await withDeadline(client.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid'), timeoutMs);
    return rows.state.pid === rows[0]?.pid;
  } finally {
    client.end({ timeout: 1 }).catch(() => undefined);
  }
}

/** Any postgres.js client or transaction; only `unsafe` is used. */
export interface PostgresJsClient {
  unsafe(text: string, parameters?: never[], options?: { prepare?: boolean }): PromiseLike<unknown>;
}

/** Wraps a postgres.js transaction of the caller's. Its own settings decide about preparing, so nothing is prepared here. */
export function overPostgresJs(client: PostgresJsClient): Queryable {
  return {
    query: async (text, parameters) => {
      const rows = (await client.unsafe(text, parameters as never[], { prepare: false })) as Row[];
      return rows.map(withOwnNames);
    },
  };
}

/** The caller's client may rename columns (`transform: postgres.pascal`); those of our enqueue statements are single lower-case words. */
function withOwnNames(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]));
}
