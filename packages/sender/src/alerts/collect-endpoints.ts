import { intOf, textOf, type Queryable } from '../outbox/database.js';
import { isFree } from '../outbox/live-claims.js';
import { quoteSchema } from '../outbox/schema-name.js';
import type { CollectContext } from './collect-dead.js';
import type { AlertEvent } from './digest.js';

/** Notes which endpoints are parked or disabled, in the transaction that writes the digest. @returns those that were not before. */
export async function collectEndpoints(tx: Queryable, { schema, source }: CollectContext): Promise<AlertEvent[]> {
  const name = quoteSchema(schema);
  const rows = await tx.query(
    `with troubled as materialized (
       select 'parked' as kind, e.id, h.failures as count, 'failures in a row' as reason, h.last_failed as number
         from ${name}.endpoint_health h join ${name}.endpoint e on e.key = h.endpoint_key
        where h.parked_until is not null and e.source = $1
        union all
       select 'disabled', e.id, 1, 'gone', null
         from ${name}.endpoint e where e.held_because = 'gone' and e.source = $1
     ), back as (
       delete from ${name}.alert_told t
        where t.source = $1 and not exists (select 1 from troubled n where n.kind = t.kind and n.id = t.endpoint)
     ), noted as (
       insert into ${name}.alert_told (source, kind, endpoint)
       select $1, t.kind, t.id from troubled t on conflict do nothing returning kind, endpoint
     )
     select t.kind, t.id, t.count, (extract(epoch from now()) * 1000)::bigint::text as at_ms,
            coalesce((select a.because from ${name}.attempt a where a.notification_number = t.number order by a.number desc limit 1),
                     t.reason) as reason
       from troubled t join noted n on n.kind = t.kind and n.endpoint = t.id
      order by t.count desc, t.id`,
    [source],
  );
  return rows.map((row) => ({
    kind: textOf(row, 'kind') as 'parked' | 'disabled',
    endpoint: textOf(row, 'id'),
    count: intOf(row, 'count'),
    reason: textOf(row, 'reason'),
    atMs: Number(textOf(row, 'at_ms')),
  }));
}

/** Counted no further, for each endpoint. */
const countLimit = 10_000;
/** Endpoints that an alert could name anyway. */
const endpointLimit = 10;

/**
 * What has been due for longer than `overdueMs` at endpoints that are neither held, parked nor resting: somebody should
 * have sent it. Asks the index first whether anything at all is so old.
 */
export async function collectOverdue(
  tx: Queryable,
  { schema, source }: CollectContext,
  overdueMs: number,
): Promise<AlertEvent[]> {
  const name = quoteSchema(schema);
  const [any] = await tx.query(
    `select 1 as one where exists (select 1 from ${name}.outbox o where o.state = 0 and o.lane + 0 = 0 and o.due_at < ${before('$1')} and ${isFree})
                        or exists (select 1 from ${name}.outbox o where o.state = 0 and o.lane + 0 = 1 and o.due_at < ${before('$1')} and ${isFree})`,
    [overdueMs],
  );
  if (any === undefined) return [];
  const oldest = (lane: number) =>
    `(select min(o.due_at) from ${name}.outbox o where o.state = 0 and o.lane = ${lane} and o.endpoint_key = e.key and ${isFree})`;
  const rows = await tx.query(
    `select late.id, (extract(epoch from late.due_at) * 1000)::bigint::text as at_ms,
            (select count(*)::int4 from (select 1 from ${name}.outbox o where o.state = 0 and o.lane in (0, 1)
               and o.endpoint_key = late.key and o.due_at < ${before('$2')} and ${isFree} limit ${countLimit}) c) as count
       from (select e.key, e.id, least(${oldest(0)}, ${oldest(1)}) as due_at
               from ${name}.endpoint e left join ${name}.endpoint_health h on h.endpoint_key = e.key
              where e.source = $1 and e.held_at is null and h.parked_until is null and coalesce(h.rest_until <= now(), true)) late
      where late.due_at < ${before('$2')}
      order by late.due_at limit ${endpointLimit}`,
    [source, overdueMs],
  );
  return rows.map((row) => ({
    kind: 'overdue',
    endpoint: textOf(row, 'id'),
    count: intOf(row, 'count'),
    reason: 'overdue',
    atMs: Number(textOf(row, 'at_ms')),
  }));
}

function before(placeholder: string): string {
  return `now() - ${placeholder}::float8 * interval '1 millisecond'`;
}
