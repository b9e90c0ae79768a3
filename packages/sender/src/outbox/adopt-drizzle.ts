import { sql, type SQL } from 'drizzle-orm';
import type { Database, Parameter, Queryable, Row } from './database.js';
import { withDeadline, withinDeadlines } from './with-deadline.js';

/** Any drizzle database or transaction over PostgreSQL, with or without a schema; only these two methods are used. */
export interface DrizzleLike {
  execute(query: SQL): PromiseLike<unknown>;
  // `any`: TypeScript compares a callback's parameters strictly, and each driver's tx is a type of its own.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  transaction<T>(work: (tx: any) => Promise<T>): Promise<T>;
}

/** True for a drizzle database or transaction. */
export function isDrizzle(value: unknown): value is DrizzleLike {
  return isObject(value) && typeof value['execute'] === 'function' && typeof value['transaction'] === 'function';
}

/** Wraps a drizzle database or transaction: the same statements, as drizzle's own parameter objects. */
export function overDrizzle(client: Pick<DrizzleLike, 'execute'>): Queryable {
  return {
    query: async (text, parameters) => {
      try {
        return rowsOf(await client.execute(toSql(text, parameters)));
      } catch (error) {
        throw unwrap(error);
      }
    },
  };
}

/**
 * Uses a database that the host opened. It is not closed with the sender.
 *
 * @param queryTimeoutMs - after which a statement counts as unknown; drivers wait for ever on a connection that fell silent.
 */
export function adoptDrizzle(client: DrizzleLike, queryTimeoutMs: number): Database {
  if (isPglite(client)) return adoptPglite(client);
  const script = async (text: string) => {
    await client.execute(sql.raw(text));
  };
  return {
    isSingleSession: false,
    query: (text, parameters) => withDeadline(overDrizzle(client).query(text, parameters), queryTimeoutMs),
    transaction: (work) =>
      withinDeadlines(queryTimeoutMs, (deadline) => {
        let isLost = false;
        const running = client.transaction(async (tx: Pick<DrizzleLike, 'execute'>) => {
          deadline.begun();
          const query: Queryable['query'] = async (text, parameters) => {
            if (isLost) return neverSettles();
            try {
              return await deadline.orFail(withDeadline(overDrizzle(tx).query(text, parameters), queryTimeoutMs));
            } catch (error) {
              isLost ||= isPostgresJs(client) && !isAnswer(error);
              throw error;
            }
          };
          try {
            return await work({ query });
          } finally {
            deadline.start(); // for the commit, or the rollback
            if (isLost) await neverSettles();
          }
        });
        running.catch(() => (isLost = isPostgresJs(client))); // between two statements
        return running;
      }),
    script: (text) => withDeadline(script(text), queryTimeoutMs),
    close: () => Promise.resolve(),
  };
}

/**
 * For a transaction of postgres.js (3.4.9) whose connection is lost: the driver has rejected it already, and would write the rollback that
 * follows an error of its work to no socket, which ends the process.
 */
function neverSettles(): Promise<never> {
  return new Promise(() => undefined);
}

/** No connection, so none that falls silent; and a query may wait its turn for long. */
function adoptPglite(client: DrizzleLike): Database {
  return {
    ...overDrizzle(client),
    isSingleSession: true,
    transaction: (work) => client.transaction((tx: Pick<DrizzleLike, 'execute'>) => work(overDrizzle(tx))),
    script: async (text) => {
      await client.execute(sql.raw(text));
    },
    close: () => Promise.resolve(),
  };
}

/** `… $1 … $2 …` and its parameters as a drizzle query. Our statements hold no `$` but their placeholders. */
function toSql(text: string, parameters: readonly Parameter[]): SQL {
  const chunks = text.split(/\$(\d+)/).map((part, index) => {
    if (index % 2 === 0) return sql.raw(part);
    const value = parameters[Number(part) - 1];
    return sql`${sql.param(value)}`;
  });
  return sql.join(chunks);
}

/** postgres.js gives an array; pg and PGlite give an object with `rows`. */
function rowsOf(result: unknown): Row[] {
  return (Array.isArray(result) ? result : (result as { rows: Row[] }).rows) as Row[];
}

/** drizzle wraps the driver's error since 0.44; callers look for the SQLSTATE on the error itself. */
function unwrap(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error && 'code' in error.cause ? error.cause : error;
}

function isPglite(client: object): boolean {
  const inner = (client as { $client?: unknown }).$client;
  return isObject(inner) && typeof inner['execProtocol'] === 'function';
}

function isPostgresJs(client: object): boolean {
  const inner = (client as { $client?: unknown }).$client;
  return isObject(inner) && typeof inner['begin'] === 'function';
}

/** False for what postgres.js says of a connection, not of a statement. */
function isAnswer(error: unknown): boolean {
  return isObject(error) && error['name'] === 'PostgresError' && error['severity'] === 'ERROR';
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}
