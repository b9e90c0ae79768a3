import { textOf, type Database, type Queryable } from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';
import { runClaim, type ClaimedBatch, type ClaimRequest } from './claim-batch.js';

/** True if any endpoint has a limit that all workers share. */
export async function hasLimitedEndpoints(database: Queryable, schema: string): Promise<boolean> {
  const rows = await database.query(
    `select 1 as one from ${quoteSchema(schema)}.endpoint e where ${isLimited} limit 1`,
    [],
  );
  return rows.length > 0;
}

/** The condition of the partial index `endpoint_limited`. */
const isLimited = '(e.max_in_flight_everywhere is not null or e.max_per_second is not null)';

/**
 * Claims for the endpoints that have an exact limit over all workers, one after the other.
 *
 * Each gets a transaction of its own that locks the endpoint's health row first: only a statement that begins after
 * the lock sees every claim that is live. Counting in the claim itself let 32 requests through a limit of 4.
 */
export async function claimLimited(database: Database, request: ClaimRequest): Promise<ClaimedBatch> {
  const total: ClaimedBatch = { notifications: [], claimedAtMs: 0, cursor: request.cursor };
  for (const endpointKey of await dueEndpoints(database, request)) {
    const left = request.limit - total.notifications.length;
    if (left <= 0) break;
    let batch: ClaimedBatch | undefined;
    try {
      batch = await claimOne(database, { ...request, limit: left, cursor: endpointKey });
    } catch (error) {
      if (total.notifications.length === 0) throw error;
      break; // what is claimed already must be sent: thrown away it would wait for its lease, as if its worker had died
    }
    if (batch === undefined) continue;
    total.notifications.push(...batch.notifications);
    total.claimedAtMs = Math.max(total.claimedAtMs, batch.claimedAtMs);
  }
  return total;
}

/** @returns undefined if another worker is claiming for this endpoint right now. */
function claimOne(database: Database, request: ClaimRequest): Promise<ClaimedBatch | undefined> {
  return database.transaction(async (tx) =>
    (await lockHealth(tx, request.schema, request.cursor)) ? runClaim(tx, request, 'one-limited') : undefined,
  );
}

async function dueEndpoints(database: Queryable, { schema, lane, limit }: ClaimRequest): Promise<string[]> {
  const name = quoteSchema(schema);
  if (lane !== 0 && lane !== 1) throw new RangeError(`not a lane: ${lane}`); // a literal, or the index over lanes cannot be used
  const rows = await database.query(
    `select e.key::text as key from ${name}.endpoint e
      where ${isLimited} and e.held_at is null
        and exists (select 1 from ${name}.outbox o where o.state = 0 and o.lane = ${lane} and o.endpoint_key = e.key and o.due_at <= now())
      order by random() limit $1::int4`,
    [limit],
  );
  return rows.map((row) => textOf(row, 'key'));
}

async function lockHealth(tx: Queryable, schema: string, endpointKey: string): Promise<boolean> {
  const rows = await tx.query(
    `select 1 as one from ${quoteSchema(schema)}.endpoint_health where endpoint_key = $1::text::bigint for update skip locked`,
    [endpointKey],
  );
  return rows.length > 0;
}
