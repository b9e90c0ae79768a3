import postgres from 'postgres';
import type { Parameter, Queryable, Row } from './database.js';
import { withDeadline } from './with-deadline.js';

/** One connection to PostgreSQL, from its first statement until it is lost. */
export interface Session extends Queryable {
  /** Runs a script of several statements, however long it takes. */
  script(text: string): Promise<void>;
  /** Never resolves; rejects as soon as the connection is lost. From then on nothing is sent on it. */
  readonly lost: Promise<never>;
  /** `performance.now()` from which on it should make room for a new one. */
  readonly expiresAtMs: number;
  /** Whoever waits for an answer gets this error instead, and the server rolls back. */
  giveUp(error: unknown): void;
  /** Ends it when nothing is under way. */
  end(): Promise<void>;
}

export interface SessionOptions {
  /** How long one statement may take before it counts as unknown, in ms. */
  queryTimeoutMs: number;
  /** Whether statements are prepared. */
  prepares: boolean;
  /** Called once, when the connection is lost or given up. */
  onLost: (error: unknown) => void;
}

/** For every client of ours: we read no arrays, and a connection that ended while the driver looks their types up would end the process. */
export const clientOptions = { fetch_types: false, onnotice: () => undefined } as const; // "schema exists already" is not news

/** So that connections move on to the servers that a name or a balancer stands for by now. */
const lifetimeMs = 2_700_000;
const goodbyeSeconds = 1;

/**
 * Opens a session: a client of the driver's with one connection, which is given up with it.
 *
 * postgres.js (3.4.9) makes a lost connection anew and goes on with what it knew of the old one: bytes it never wrote, so
 * that the new one waits for ever; the old one's error, given to the next statement; a transaction whose rollback it writes to
 * no socket, which ends the process. So a client of ours is never used again after its connection.
 */
export function openSession(url: string, options: SessionOptions): Session {
  const { queryTimeoutMs, prepares, onLost } = options;
  let isLost = false;
  let lose: (error: unknown) => void = () => undefined;
  const lost = new Promise<never>((_resolve, reject) => (lose = reject));
  lost.catch(() => undefined); // there may be nobody who waits
  const client = postgres(url, {
    ...clientOptions,
    max: 1,
    max_lifetime: null, // the driver would end it between two statements of a transaction
    prepare: prepares,
    connection: { application_name: 'bestnotify' },
    onclose: () => {
      giveUp(connectionEnded());
    },
  });
  const giveUp = (error: unknown) => {
    if (isLost) return;
    isLost = true;
    lose(error);
    onLost(error);
    client.end({ timeout: 0 }).catch(() => undefined);
  };
  const unlessLost = async <T>(work: () => PromiseLike<T>): Promise<T> => {
    if (isLost) return lost;
    try {
      return await work();
    } catch (error) {
      if (!isAnswer(error)) giveUp(error);
      throw error;
    }
  };
  return {
    lost,
    expiresAtMs: performance.now() + lifetimeMs,
    query: (text, parameters) =>
      unlessLost(() => withDeadline(run(client, text, parameters, prepares), queryTimeoutMs)),
    script: (text) =>
      unlessLost(async () => {
        await client.unsafe(text).simple();
      }),
    giveUp,
    end: () => client.end({ timeout: goodbyeSeconds }),
  };
}

/** False for an error that says nothing of the statement but that its connection is of no use: a FATAL, a reset, a deadline. */
function isAnswer(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.severity === 'ERROR';
}

/** What the driver says of a statement under way; this is for a transaction that was between two. */
function connectionEnded(): Error {
  const message = 'The connection to PostgreSQL ended within a transaction, which is rolled back.';
  return Object.assign(new Error(message), { code: 'CONNECTION_CLOSED' });
}

/** Runs a statement, and reads its rows by the types of their columns. */
async function run(
  client: postgres.Sql,
  text: string,
  parameters: readonly Parameter[],
  prepare: boolean,
): Promise<Row[]> {
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
