import type { Queryable } from './database.js';
import { quoteSchema } from './schema-name.js';

/**
 * Locks an endpoint's health before the endpoint itself: workers who report two replies of 410 lock them in that order,
 * and the other way round both would wait for each other.
 */
export async function lockHealth(
  tx: Queryable,
  { schema, source }: { schema: string; source: string },
  endpoint: string,
): Promise<void> {
  const name = quoteSchema(schema);
  await tx.query(
    `select 1 as one from ${name}.endpoint_health h join ${name}.endpoint e on e.key = h.endpoint_key
      where e.source = $1 and e.id = $2 for update of h`,
    [source, endpoint],
  );
}
