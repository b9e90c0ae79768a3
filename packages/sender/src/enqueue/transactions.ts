import { ConfigurationError } from '../errors.js';
import { isDrizzle, overDrizzle, type DrizzleLike } from '../outbox/adopt-drizzle.js';
import type { Queryable, Row } from '../outbox/database.js';
import { overPglite, type PgliteClient } from '../outbox/open-pglite.js';
import { overPostgresJs, type PostgresJsClient } from '../outbox/open-postgres.js';

/** A client of `pg` on which the caller has begun a transaction. */
export interface PgClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

/**
 * The caller's open transaction: drizzle's `tx`, postgres.js's `sql` inside `begin`, a `pg` client after `begin`, or
 * PGlite's `tx`. Structural: no driver is imported for it.
 */
export type CallerTransaction = Pick<DrizzleLike, 'execute'> | PostgresJsClient | PgClient | PgliteClient;

/**
 * The query seam over whatever transaction the caller has open.
 *
 * @throws {@link ConfigurationError} if it is none of the clients we know.
 */
export function overTransaction(tx: CallerTransaction): Queryable {
  refuseDatabase(tx);
  if (isDrizzle(tx)) return overDrizzle(tx);
  if (hasMethod(tx, 'unsafe')) return overPostgresJs(tx as PostgresJsClient);
  if (hasMethod(tx, 'query')) {
    const client = tx as PgClient;
    // pg and PGlite share the shape; only PGlite's has exec.
    if (hasMethod(tx, 'exec')) return overPglite(client);
    return { query: async (text, parameters) => (await client.query(text, [...parameters])).rows as Row[] };
  }
  throw new ConfigurationError({
    option: 'tx',
    problem: 'is not a transaction of drizzle, postgres.js, pg or PGlite',
    fix: 'Pass the object that your transaction callback receives.',
  });
}

/**
 * A pool runs each statement on whatever connection is free, outside the transaction that the caller has open elsewhere, and
 * so does a PGlite, which is no transaction: the notification would be real although the order is rolled back.
 */
function refuseDatabase(tx: CallerTransaction): void {
  const client: unknown = isDrizzle(tx) ? (tx as { $client?: unknown }).$client : tx;
  const isPool =
    (hasMethod(client, 'begin') && hasMethod(client, 'reserve')) || // postgres.js outside begin()
    (hasMethod(client, 'connect') && typeof (client as { totalCount?: unknown }).totalCount === 'number'); // a Pool of pg
  const isPglite = hasMethod(client, 'exec') && hasMethod(client, 'transaction'); // its transactions have no transaction()
  if (!isPool && !isPglite) return;
  throw new ConfigurationError({
    option: 'tx',
    problem: `is a ${isPool ? 'pool of connections' : 'PGlite database'}, not a transaction`,
    fix: 'Pass the object that your transaction callback receives, or leave tx out to write at once.',
  });
}

function hasMethod(value: unknown, name: string): boolean {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === 'function'
  );
}
