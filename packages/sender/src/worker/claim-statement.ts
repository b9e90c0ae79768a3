import { countClaims, isFree } from '../outbox/live-claims.js';
import { quoteSchema } from '../outbox/schema-name.js';

/** Which endpoints a claim serves: a rotation over all of them, or the one whose key is the cursor, within its exact limits. */
export type ClaimScope = 'rotation' | 'one-limited';

/**
 * The claim of one lane.
 *
 * $1 cursor · $2 token · $3 lease in ms · $4 default in-flight limit · $5, $6 endpoints with requests in flight, and how many ·
 * $7 whether the breaker counts · $8 whether JSON is read as text.
 *
 * `limit` is inlined, as a checked literal: a bound LIMIT makes a generic plan assume a tenth of the table.
 */
export function claimStatement(
  schema: string,
  { lane, limit, scope = 'rotation' }: { lane: number; limit: number; scope?: ClaimScope },
): string {
  const name = quoteSchema(schema);
  for (const literal of [lane, limit]) {
    if (!Number.isInteger(literal) || literal < 0) throw new RangeError(`not a literal: ${literal}`);
  }
  const pending = `o.state = 0 and o.lane = ${lane}`;
  return `
with recursive ${scope === 'rotation' ? rotation(name, lane) : `one as (select $1::text::bigint as endpoint_key)`}, eligible as materialized (
  select r.endpoint_key, s.free, s.is_parked
    from ${scope === 'rotation' ? `(select * from ahead union all select * from behind) r` : `one r`}
   cross join lateral (
     -- LIMIT keeps this a look-up per endpoint; a join would read the whole rotation first.
     -- What is in flight is made an object, once: a list would be walked for each endpoint.
     select ${scope === 'rotation' ? '' : 'least('}least(coalesce(e.max_in_flight, $4::int4), ${rampLimit('coalesce(e.max_in_flight, $4::int4)')})
              - coalesce(((select jsonb_object($5::text::text[], $6::text::text[])) ->> r.endpoint_key::text)::int4, 0)${scope === 'rotation' ? '' : sharedLimits(name)} as free,
            $7::boolean and h.parked_until is not null as is_parked,
            e.held_at is null and coalesce(h.rest_until <= now(), true)
              and not ($7::boolean and (coalesce(h.parked_until > now(), false)
                or (h.parked_until is not null and coalesce(h.probe_until > now(), false))))
              ${scope === 'rotation' ? 'and e.max_in_flight_everywhere is null and e.max_per_second is null' : ''} as is_open
       from (select 1) one_row
       left join ${name}.endpoint e on e.key = r.endpoint_key
       left join ${name}.endpoint_health h on h.endpoint_key = r.endpoint_key
      limit 1) s
   where ${scope === 'rotation' ? 'r.due_at <= now() and ' : ''}s.is_open and s.free > 0
   limit ${limit}
), share as materialized (
  select ceil(${limit} / greatest(count(*), 1)::numeric)::int4 as each from eligible
), picked as materialized (
  select p.number
    from eligible l
   cross join lateral (
     select o.number from ${name}.outbox o
      where ${pending} and o.endpoint_key = l.endpoint_key and o.due_at <= now() and ${isFree}
      order by o.due_at
      limit least(l.free, (select each from share))
        for update of o skip locked) p -- workers pass each other instead of queueing
   where not l.is_parked
   limit ${limit}
), probing as materialized (
  select h.endpoint_key, h.last_failed
    from eligible l join ${name}.endpoint_health h on h.endpoint_key = l.endpoint_key
   where l.is_parked and h.parked_until <= now() and coalesce(h.probe_until <= now(), true)
     for update of h skip locked -- one probe at a time, whatever the number of workers
), probe_leases as (
  update ${name}.endpoint_health h set probe_until = now() + $3::float8 * interval '1 millisecond'
   where h.endpoint_key = any (array(select endpoint_key from probing))
), probes as materialized (
  -- Not the row that failed last, unless it is the only one: a poison row would keep its merchant parked.
  select p.number
    from probing b
   cross join lateral (
     select * from (select o.number from ${name}.outbox o
                     where ${pending} and o.endpoint_key = b.endpoint_key and o.due_at <= now() and ${isFree} and o.number is distinct from b.last_failed
                     order by o.due_at limit 1 for update of o skip locked) other
      union all
     select * from (select o.number from ${name}.outbox o
                     where ${pending} and o.number = b.last_failed and o.endpoint_key = b.endpoint_key and o.due_at <= now() and ${isFree}
                       for update of o skip locked) same
      limit 1) p
), claimed as (
  update ${name}.outbox o
     set claim_token = $2::text::uuid,
         -- A token that is still there belongs to a claim that ran out: its worker is presumed dead, and may have sent.
         lost_claims = o.lost_claims + (o.claim_token is not null)::int,
         may_have_arrived = o.may_have_arrived or o.claim_token is not null,
         first_claimed_at = coalesce(o.first_claimed_at, now()),
         -- In a column that no index holds, so that the row's new version needs no new entry in any. Where the claims of all
         -- workers are counted, it is when the row is due again. A row that loses claims gets longer ones: 30 s, doubling to 1 h.
         ${scope === 'rotation' ? 'claimed_until' : 'claimed_until = null, due_at'} = now() + $3::float8 * interval '1 millisecond' + case
           when o.claim_token is null then interval '0'
           else least(interval '30 seconds' * 2 ^ least(o.lost_claims, 20), interval '1 hour') end
   where o.number = any (array(select number from picked union all select number from probes))
  returning o.*
)${scope === 'rotation' ? '' : spentTokens(name)}
select c.number::text as number, n.id::text as id, c.endpoint_key::text as endpoint_key, e.xmin::text as endpoint_revision,
       n.source, n.endpoint, n.type, n.biz_id, n.subject, coalesce(c.corrected_url, n.url) as url, n.content_type, n.traceparent,
       case when ${isText} then convert_from(n.body, 'UTF8')::varchar end as text, case when not ${isText} then n.body end as body,
       (select ${milliseconds('now()')}::text) as claimed_at_ms, -- a sub-select: once for all rows
       -- Null for a plain first attempt, which nearly every row is: to tell all of this of each row takes longer than the rest.
       case when c.attempts = 0 and c.lost_claims = 0 and c.waits = 0 and c.round = 1 and c.round_at > now() - interval '1 day'
             and not c.may_have_arrived and not c.duplicate_accepted and n.policy is null and n.max_attempts is null
             and c.held_ms_before = coalesce(e.held_ms, 0) and not ${isProbe} and not ${isTroubled}
            then null
            else json_build_object(
              'round', c.round, 'attempts', c.attempts, 'lostClaims', c.lost_claims, 'waits', c.waits,
              'policy', n.policy, 'maxAttempts', n.max_attempts, 'ageMs', ${milliseconds('now() - c.first_attempt_at')},
              'roundAgeMs', ${milliseconds('now() - c.round_at')}, 'knownForMs', ${milliseconds('now() - c.first_claimed_at')},
              'heldMs', coalesce(e.held_ms, 0) - c.held_ms_before,
              'mayHaveArrived', c.may_have_arrived, 'duplicateAccepted', c.duplicate_accepted,
              'isProbe', ${isProbe}, 'isTroubled', ${isTroubled})::text end as history
  from claimed c
  join ${name}.notification n on n.number = c.number
  left join ${name}.endpoint e on e.key = c.endpoint_key
  left join ${name}.endpoint_health h on h.endpoint_key = c.endpoint_key`;
}

/** Another encoding could change the bytes. */
const isText = `($8::boolean and n.content_type = 'application/json' and getdatabaseencoding() = 'UTF8')`;

const isProbe = '(c.number = any (array(select number from probes)))';
const isTroubled = 'coalesce(h.failures > 0 or h.gone > 0 or h.parked_until is not null, false)';

/** The endpoints with pending rows from the cursor on, then from the start up to it, each with its earliest due time. */
function rotation(name: string, lane: number): string {
  const pending = `o.state = 0 and o.lane = ${lane}`;
  return `due as materialized (
  -- First of all: is anything due? Else rotating would walk every endpoint that waits for its next attempt.
  select 1 ${dueRow(name, lane)}
), ahead (endpoint_key, due_at) as (
  -- A loose scan: from each endpoint with pending rows to the next one, and its earliest row. It stops when enough are found.
  (select o.endpoint_key, o.due_at from ${name}.outbox o
    where ${pending} and o.endpoint_key > $1::text::bigint and ${isFree} and exists (select 1 from due)
    order by o.endpoint_key, o.due_at limit 1)
  union all
  select n.endpoint_key, n.due_at from ahead a cross join lateral (
    select o.endpoint_key, o.due_at from ${name}.outbox o
     where ${pending} and o.endpoint_key > a.endpoint_key and ${isFree}
     order by o.endpoint_key, o.due_at limit 1) n
), behind (endpoint_key, due_at) as (
  (select o.endpoint_key, o.due_at from ${name}.outbox o
    where ${pending} and o.endpoint_key <= $1::text::bigint and ${isFree} and exists (select 1 from due)
    order by o.endpoint_key, o.due_at limit 1)
  union all
  select n.endpoint_key, n.due_at from behind b cross join lateral (
    select o.endpoint_key, o.due_at from ${name}.outbox o
     where ${pending} and o.endpoint_key > b.endpoint_key and o.endpoint_key <= $1::text::bigint and ${isFree}
     order by o.endpoint_key, o.due_at limit 1) n
)`;
}

/** The row of a lane that has been due longest and that nobody holds. */
export function dueRow(name: string, lane: number): string {
  return `from ${name}.outbox o where o.state = 0 and o.lane + 0 = ${lane} and o.due_at <= now() and ${isFree} order by o.due_at limit 1`;
}

const refilledTokens = `least(greatest(e.max_per_second, 1), h.tokens + e.max_per_second * extract(epoch from now() - h.tokens_at))`;

/**
 * What all workers together may still begin; the health row is locked, so nobody else is counting. Claims of such an endpoint
 * lie at the end of their lease, which is quickly counted; others are from before it had a limit.
 */
function sharedLimits(name: string): string {
  return `,
            coalesce(e.max_in_flight_everywhere - (select count(*)::int4 from ${name}.outbox o
              where o.state = 0 and o.lane in (0, 1) and o.endpoint_key = e.key and o.claim_token is not null and o.due_at > now())
              - ${countClaims(name, 'e.key')}, 2147483647),
            case when e.max_per_second is null then 2147483647 else floor(${refilledTokens})::int4 end)`;
}

/** Takes from the bucket what was claimed. */
function spentTokens(name: string): string {
  return `, spent as (
  update ${name}.endpoint_health h
     set tokens = ${refilledTokens} - (select count(*) from claimed), tokens_at = now()
    from ${name}.endpoint e
   where e.key = $1::text::bigint and h.endpoint_key = e.key and e.max_per_second is not null
     and not ($7::boolean and h.parked_until is not null) -- a probe has written this row already
)`;
}

/** After downtime an endpoint's limit grows from 1 to its whole in 30 s, so that its backlog does not knock it over again. */
function rampLimit(limit: string): string {
  return `case when h.ramped_from > now() - interval '30 seconds'
                then greatest(1, ceil(${limit} * extract(epoch from now() - h.ramped_from) / 30))::int4 else ${limit} end`;
}

/** As float8: extract() gives numeric, which is several times slower. */
function milliseconds(of: string): string {
  return `(date_part('epoch', ${of}) * 1000)`;
}
