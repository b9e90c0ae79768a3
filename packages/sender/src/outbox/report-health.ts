import { firstParkMs, holdAfterGone, longestParkMs, parkAfterFailures, type HealthReport } from '../rules/breaker.js';
import { intOf, textOf, type Queryable } from './database.js';
import { quoteSchema } from './schema-name.js';

/** A change of an endpoint's health that somebody may want to hear of. */
export interface HealthChange {
  kind: 'parked' | 'unparked' | 'disabled';
  endpoint: string;
  source: string;
  /** For `parked`: until the next probe, in ms. */
  forMs: number;
  /** Failures in a row. */
  failures: number;
}

/** Writes reports down, for all workers to see. @returns what changed by it. */
export async function reportHealth(
  database: Queryable,
  schema: string,
  reports: readonly HealthReport[],
): Promise<HealthChange[]> {
  const rows = await database.query(healthStatement(schema), [JSON.stringify(reports)]);
  return rows.map((row) => ({
    kind: textOf(row, 'kind') as HealthChange['kind'],
    endpoint: textOf(row, 'id'),
    source: textOf(row, 'source'),
    forMs: intOf(row, 'for_ms'),
    failures: intOf(row, 'failures'),
  }));
}

/** $1: reports as a JSON array. The rows are locked in order, so that two workers do not deadlock. */
function healthStatement(schema: string): string {
  const name = quoteSchema(schema);
  return `
with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as i(
    "endpointKey" bigint, "hasGood" boolean, failures integer, "lastFailed" bigint, "hasStay" boolean, gone integer,
    "hasFailedProbe" boolean, "hasStrayProbe" boolean, "restMs" float8)
), locked as materialized (
  select h.endpoint_key, h.parked_until, h.parks, i."hasGood" as is_back, i."hasFailedProbe" as probe_failed, i."hasStrayProbe" as probe_strayed, i."lastFailed" as last_failed, i."restMs" as rest_ms,
         case when i."hasGood" then 0 else h.failures end + i.failures as failures,
         case when i."hasStay" then 0 else h.gone end + i.gone as gone
    from ${name}.endpoint_health h join input i on i."endpointKey" = h.endpoint_key
   order by h.endpoint_key
     for update of h
), decided as materialized (
  select l.*,
         l.failures >= ${parkAfterFailures} and (l.parked_until is null or l.is_back) as parks_now,
         l.parked_until is not null and l.is_back and l.failures < ${parkAfterFailures} as unparks,
         l.parked_until is not null and not l.is_back and l.probe_failed as parks_on,
         least(${firstParkMs} * 2 ^ least(case when l.parked_until is null or l.is_back then 0 else l.parks end, 20), ${longestParkMs}) as park_ms
    from locked l
), changed as (
  update ${name}.endpoint_health h
     set failures = d.failures,
         gone = d.gone,
         last_failed = coalesce(d.last_failed, h.last_failed),
         rest_until = case when d.rest_ms > 0 then greatest(h.rest_until, now() + d.rest_ms * interval '1 millisecond') else h.rest_until end,
         parks = case when d.parks_now then 1 when d.parks_on then d.parks + 1 when d.is_back then 0 else h.parks end,
         parked_until = case when d.parks_now or d.parks_on then now() + d.park_ms * interval '1 millisecond'
                             when d.is_back then null else h.parked_until end,
         -- A probe that went to another host has found out nothing: the next one need not wait for its lease.
         probe_until = case when d.parks_now or d.parks_on or d.is_back or d.probe_strayed then null else h.probe_until end,
         ramped_from = case when d.unparks then now() else h.ramped_from end
    from decided d
   where h.endpoint_key = d.endpoint_key
), disabled as (
  update ${name}.endpoint e
     set held_at = now(), held_because = 'gone'
   where e.held_at is null and e.key = any (array(select endpoint_key from decided where gone >= ${holdAfterGone}))
  returning e.key
)
select e.id, e.source, d.failures, round(d.park_ms)::int4 as for_ms,
       case when d.parks_now or d.parks_on then 'parked' when d.unparks then 'unparked' else 'disabled' end as kind
  from decided d join ${name}.endpoint e on e.key = d.endpoint_key
 where d.parks_now or d.parks_on or d.unparks or d.endpoint_key in (select key from disabled)`;
}
