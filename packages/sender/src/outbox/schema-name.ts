import { ConfigurationError } from '../errors.js';

/** Where the tables live unless the `schema` option says otherwise. */
export const defaultSchema = 'bestnotify';

/**
 * A schema name, quoted for use in a statement.
 *
 * @throws {@link ConfigurationError} unless it is a plain lower-case identifier: a name that differs only in case from
 *   another, or needs escaping, is refused instead of quoted.
 */
export function quoteSchema(name: string): string {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(name)) {
    throw new ConfigurationError({
      option: 'schema',
      problem: `must match ^[a-z_][a-z0-9_]{0,62}$ (got ${JSON.stringify(name)})`,
    });
  }
  return `"${name}"`;
}
