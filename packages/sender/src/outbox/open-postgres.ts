import postgres from 'postgres';
import type { Database, Parameter, Queryable, Row } from './database.js';
import { DatabaseTimeoutError } from './errors.js';
import { withDeadline, withinDeadlines } from './with-deadline.js';

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

const drainSeconds = 5;

/** For every client of ours: we read no arrays, and a connection that ended while the driver looks their types up would end the process. */
const common = { fetch_types: false, onnotice: () => undefined } as const; // "schema exists already" is not news

/** True for the URL of a PostgreSQL server. */
export function isPostgresUrl(value: unknown): value is string {
  return typeof value === 'string' && /^postgres(ql)?:\/\//.test(value);
}

/** A single connection to listen on. */
export function openListener(url: string): ReturnType<typeof postgres> {
  return postgres(url, {
    ...common,
    max: 1,
    prepare: false,
    connection: { application_name: 'bestnotify listener' },
  });
}

/** Opens a pool of our own on a PostgreSQL server; the driver is used directly because drizzle over it never prepares. */
export function openPostgres(url: string, options: PostgresOptions = {}): Database {
  const { maxConnections, queryTimeoutMs, prepare } = { ...postgresDefaults, ...options };
  const connect = (prepares: boolean) =>
    postgres(url, {
      ...common,
      max: maxConnections,
      prepare: prepares, // also for what the driver begins and commits with
      connection: { application_name: 'bestnotify' },
    });
  let prepares = prepare === 'auto' ? undefined : prepare;
  let asking: Promise<boolean> | undefined;
  let client: postgres.Sql | undefined;
  const opened = async () => {
    prepares ??= await (asking ??= isDirect(url, queryTimeoutMs).finally(() => (asking = undefined)));
    return (client ??= connect(prepares));
  };
  /**
   * A connection that fell silent is never given up by the driver, and every later query may be queued behind it. What
   * else is under way on the old pool has {@link drainSeconds} to finish.
   */
  const replaceIfSilent = (used: postgres.Sql, error: unknown) => {
    if (!(error instanceof DatabaseTimeoutError) || client !== used) return;
    client = undefined;
    used.end({ timeout: drainSeconds }).catch(() => undefined);
  };
  const guarded = async <T>(work: (used: postgres.Sql) => Promise<T>): Promise<T> => {
    const used = await opened();
    try {
      return await work(used);
    } catch (error) {
      replaceIfSilent(used, error);
      throw error;
    }
  };
  const query = (on: postgres.Sql | postgres.TransactionSql): Queryable['query'] => {
    return (text, parameters) =>
      withDeadline(run(on, { text, parameters, prepare: prepares === true }), queryTimeoutMs);
  };
  return {
    isSingleSession: false,
    query: (text, parameters) => guarded((used) => query(used)(text, parameters)),
    transaction: (work) =>
      guarded((used) =>
        withinDeadlines(queryTimeoutMs, (deadline) =>
          used.begin(async (sql) => {
            deadline.begun();
            try {
              return await work({ query: (text, parameters) => deadline.orFail(query(sql)(text, parameters)) });
            } finally {
              deadline.start(); // for the commit, or the rollback
            }
          }),
        ),
      ) as Promise<Awaited<ReturnType<typeof work>>>,
    script: (text) =>
      guarded(async (used) => {
        await used.unsafe(text).simple();
      }),
    close: async () => {
      await client?.end({ timeout: drainSeconds });
    },
  };
}

/**
 * Whether nothing stands between us and the server. A pooler gives out session numbers of its own, and each transaction may be
 * in another session, where nothing of ours is prepared, not even the driver's `commit`: verdicts were lost that way.
 */
async function isDirect(url: string, timeoutMs: number): Promise<boolean> {
  const client = postgres(url, { ...common, max: 1, prepare: false });
  try {
    const rows = await withDeadline(client.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid'), timeoutMs);
    return rows.state.pid === rows[0]?.pid;
  } finally {
    client.end({ timeout: 1 }).catch(() => undefined);
  }
}

/** Runs a statement on a connection of ours, and reads its rows by the types of their columns. */
async function run(
  client: postgres.Sql | postgres.TransactionSql,
  statement: { text: string; parameters: readonly Parameter[]; prepare: boolean },
): Promise<Row[]> {
  const { text, parameters, prepare } = statement;
  const rows = await client.unsafe(text, parameters as never[], { prepare }).raw();
  const described = rows.columns as typeof rows.columns | undefined;
  if (described === undefined) return []; // a script, or a statement that gives no rows
  const columns = described.map(({ name, type }) => ({ name, read: readers[type] ?? readText }));
  return rows.map((values) => {
    const row: Row = {};
    let index = 0;
    for (const { name, read } of columns) {
      const value = values[index++] as Buffer | null;
      row[name] = value === null ? null : read(value);
    }
    return row;
  });
}

const readText = (bytes: Buffer): unknown => bytes.toString('utf8');

/** By the type's number in `pg_type`; the driver's own readers would make a string of every value first, a body of some KiB too. */
const readers: Readonly<Record<number, (bytes: Buffer) => unknown>> = {
  16: (bytes) => bytes.toString('latin1') === 't', // boolean
  17: (bytes) => Buffer.from(bytes.toString('latin1', 2), 'hex'), // bytea, as `\x…`
  23: (bytes) => Number(bytes.toString('latin1')), // int4
  1043: (bytes) => Buffer.from(bytes), // varchar; a copy, else one body would keep the 64 KiB it was read in
};

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
