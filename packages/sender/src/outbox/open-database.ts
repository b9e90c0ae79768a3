import { ConfigurationError } from '../errors.js';
import { adoptDrizzle, isDrizzle, type DrizzleLike } from './adopt-drizzle.js';
import type { Database } from './database.js';
import { openPglite } from './open-pglite.js';
import { isPostgresUrl, openPostgres, postgresDefaults, type PostgresOptions } from './open-postgres.js';

/** `postgres://…`, `pglite:<directory>`, or a drizzle database over postgres.js, pg or PGlite. */
export type DatabaseOption = string | DrizzleLike;

/**
 * Opens what the `database` option names. Nothing connects before the first query.
 *
 * @param given - left out, `DATABASE_URL` decides; without that, the embedded database in `.bestnotify`.
 * @throws {@link ConfigurationError} if it is none of the accepted forms.
 */
export function openDatabase(given: DatabaseOption | undefined, options: PostgresOptions): Database {
  const database = given ?? process.env['DATABASE_URL'] ?? 'pglite:.bestnotify';
  if (typeof database === 'string') {
    if (isPostgresUrl(database)) return openPostgres(database, options);
    const directory = /^pglite:(.+)$/s.exec(database)?.[1];
    if (directory !== undefined) return openPglite(directory);
  } else if (isDrizzle(database)) {
    return adoptDrizzle(database, options.queryTimeoutMs ?? postgresDefaults.queryTimeoutMs);
  }
  throw new ConfigurationError({
    option: 'database',
    problem: `must be 'postgres://…', 'pglite:<directory>' or a drizzle database`,
    fix: 'A plain driver client is not enough outside a transaction: wrap it with drizzle().',
  });
}
