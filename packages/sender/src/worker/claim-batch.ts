import {
  arrayLiteral,
  booleanOf,
  bytesOf,
  intOf,
  intOrNull,
  textOf,
  textOrNull,
  type Queryable,
  type Row,
} from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';

/** A notification that this worker may send until its claim ends. */
export interface ClaimedNotification {
  /** The row's number in the outbox; text, because it is a bigint. */
  number: string;
  /** `ntf_` + UUIDv7. */
  id: string;
  /** Fresh for each claim: what a settle must match. */
  token: string;
  endpointKey: string;
  round: number;
  /** Charged attempts of this round so far. */
  attempts: number;
  lostClaims: number;
  waits: number;
  source: string;
  to: string;
  type: string;
  bizId: string;
  subject: string | null;
  /** The notification's own URL, or the one an operator corrected it to; null means the endpoint's. */
  url: string | null;
  policy: string | null;
  maxAttempts: number | null;
  contentType: string;
  /** Null once it has been erased. */
  body: Buffer | null;
  /** Since the first charged attempt of this round, in ms, without the time the endpoint was held; null before it. */
  ageMs: number | null;
  /** Since the round began, in ms. */
  roundAgeMs: number;
  /** Since the first claim of any round, in ms. */
  knownForMs: number;
  /** An earlier request may have reached the merchant. */
  mayHaveArrived: boolean;
  duplicateAccepted: boolean;
  /** Changes whenever the endpoint does; null once it has been removed. */
  endpointRevision: string | null;
}

/** What one claim gives. */
export interface ClaimedBatch {
  notifications: ClaimedNotification[];
  /** The database's time at the claim, in ms since 1970: what signatures are dated by. */
  claimedAtMs: number;
  /** The endpoint the next claim starts behind. */
  cursor: string;
}

/** What a claim is asked for. */
export interface ClaimRequest {
  schema: string;
  /** 0 urgent, 1 normal. */
  lane: number;
  /** Most rows to claim. */
  limit: number;
  leaseMs: number;
  /** A fresh UUID. */
  token: string;
  /** The last endpoint served; rotation goes on behind it. */
  cursor: string;
  /** In-flight limit of endpoints that have none of their own. */
  defaultMaxInFlight: number;
  /** Requests in flight, or claimed and waiting, by endpoint key. */
  inFlight: ReadonlyMap<string, number>;
}

/** Leases due notifications of one lane: an equal share for each endpoint that has any, round robin. */
export async function claimBatch(database: Queryable, request: ClaimRequest): Promise<ClaimedBatch> {
  const { schema, lane, limit, leaseMs, token, cursor, defaultMaxInFlight, inFlight } = request;
  const busy = [...inFlight];
  const rows = await database.query(claimStatement(schema, { lane, limit }), [
    cursor,
    token,
    leaseMs,
    defaultMaxInFlight,
    arrayLiteral(busy.map(([key]) => key)),
    arrayLiteral(busy.map(([, count]) => count)),
  ]);
  const notifications = rows.map((row) => ({ ...notificationOf(row), token }));
  return {
    notifications,
    claimedAtMs: rows[0] === undefined ? 0 : Number(textOf(rows[0], 'claimed_at_ms')),
    cursor: lastServed(notifications, cursor),
  };
}

/**
 * The claim of one lane.
 *
 * $1 cursor · $2 token · $3 lease in ms · $4 default in-flight limit · $5, $6 endpoints with requests in flight, and how many.
 *
 * `limit` is inlined, as a checked literal: a bound LIMIT makes a generic plan assume a tenth of the table.
 */
export function claimStatement(schema: string, { lane, limit }: { lane: number; limit: number }): string {
  const name = quoteSchema(schema);
  for (const literal of [lane, limit]) {
    if (!Number.isInteger(literal) || literal < 0) throw new RangeError(`not a literal: ${literal}`);
  }
  const pending = `o.state = 0 and o.lane = ${lane}`;
  return `
with recursive due as materialized (
  -- First of all: is anything due? Else rotating would walk every endpoint that waits for its next attempt.
  select 1 from ${name}.outbox o where o.state = 0 and o.lane + 0 = ${lane} and o.due_at <= now() order by o.due_at limit 1
), ahead (endpoint_key, due_at) as (
  -- A loose scan: from each endpoint with pending rows to the next one, and its earliest row. It stops when enough are found.
  (select o.endpoint_key, o.due_at from ${name}.outbox o
    where ${pending} and o.endpoint_key > $1::text::bigint and exists (select 1 from due)
    order by o.endpoint_key, o.due_at limit 1)
  union all
  select n.endpoint_key, n.due_at from ahead a cross join lateral (
    select o.endpoint_key, o.due_at from ${name}.outbox o
     where ${pending} and o.endpoint_key > a.endpoint_key
     order by o.endpoint_key, o.due_at limit 1) n
), behind (endpoint_key, due_at) as (
  (select o.endpoint_key, o.due_at from ${name}.outbox o
    where ${pending} and o.endpoint_key <= $1::text::bigint and exists (select 1 from due)
    order by o.endpoint_key, o.due_at limit 1)
  union all
  select n.endpoint_key, n.due_at from behind b cross join lateral (
    select o.endpoint_key, o.due_at from ${name}.outbox o
     where ${pending} and o.endpoint_key > b.endpoint_key and o.endpoint_key <= $1::text::bigint
     order by o.endpoint_key, o.due_at limit 1) n
), busy as materialized (
  select * from unnest($5::text::bigint[], $6::text::int[]) as b(endpoint_key, in_flight)
), eligible as materialized (
  select r.endpoint_key, s.free
    from (select * from ahead union all select * from behind) r
   cross join lateral (
     -- LIMIT keeps this a look-up per endpoint; a join would read the whole rotation first.
     select coalesce(e.max_in_flight, $4::int4) - coalesce((select b.in_flight from busy b where b.endpoint_key = r.endpoint_key), 0) as free,
            e.held_at
       from (select 1) one left join ${name}.endpoint e on e.key = r.endpoint_key
      limit 1) s
   where r.due_at <= now() and s.held_at is null and s.free > 0
   limit ${limit}
), share as materialized (
  select ceil(${limit} / greatest(count(*), 1)::numeric)::int4 as each from eligible
), picked as materialized (
  select p.number
    from eligible l
   cross join lateral (
     select o.number from ${name}.outbox o
      where ${pending} and o.endpoint_key = l.endpoint_key and o.due_at <= now()
      order by o.due_at
      limit least(l.free, (select each from share))
        for update of o skip locked) p -- workers pass each other instead of queueing
   limit ${limit}
), claimed as (
  update ${name}.outbox o
     set claim_token = $2::text::uuid,
         -- A token that is still there belongs to a claim that ran out: its worker is presumed dead, and may have sent.
         lost_claims = o.lost_claims + (o.claim_token is not null)::int,
         may_have_arrived = o.may_have_arrived or o.claim_token is not null,
         first_claimed_at = coalesce(o.first_claimed_at, now()),
         -- The end of the lease is when the row is due again. A row that loses claims gets longer ones: 30 s, doubling to 1 h.
         due_at = now() + $3::float8 * interval '1 millisecond' + case
           when o.claim_token is null then interval '0'
           else least(interval '30 seconds' * 2 ^ least(o.lost_claims, 20), interval '1 hour') end
   where o.number = any (array(select number from picked))
  returning o.*
)
select c.number::text as number, n.id::text as id, c.endpoint_key::text as endpoint_key, c.round, c.attempts, c.lost_claims, c.waits,
       n.source, n.endpoint, n.type, n.biz_id, n.subject, coalesce(c.corrected_url, n.url) as url, n.policy, n.max_attempts,
       n.content_type, n.body, c.may_have_arrived, c.duplicate_accepted,
       ${milliseconds(`now() - c.first_attempt_at`)}::text as age_ms,
       (coalesce(e.held_ms, 0) - c.held_ms_before)::text as held_ms, e.xmin::text as endpoint_revision,
       ${milliseconds(`now() - c.round_at`)}::text as round_age_ms,
       ${milliseconds(`now() - c.first_claimed_at`)}::text as known_for_ms,
       (extract(epoch from now()) * 1000)::text as claimed_at_ms
  from claimed c
  join ${name}.notification n on n.number = c.number
  left join ${name}.endpoint e on e.key = c.endpoint_key`;
}

function milliseconds(interval: string): string {
  return `(extract(epoch from ${interval}) * 1000)`;
}

function notificationOf(row: Row): Omit<ClaimedNotification, 'token'> {
  const age = textOrNull(row, 'age_ms');
  return {
    number: textOf(row, 'number'),
    id: `ntf_${textOf(row, 'id')}`,
    endpointKey: textOf(row, 'endpoint_key'),
    round: intOf(row, 'round'),
    attempts: intOf(row, 'attempts'),
    lostClaims: intOf(row, 'lost_claims'),
    waits: intOf(row, 'waits'),
    source: textOf(row, 'source'),
    to: textOf(row, 'endpoint'),
    type: textOf(row, 'type'),
    bizId: textOf(row, 'biz_id'),
    subject: textOrNull(row, 'subject'),
    url: textOrNull(row, 'url'),
    policy: textOrNull(row, 'policy'),
    maxAttempts: intOrNull(row, 'max_attempts'),
    contentType: textOf(row, 'content_type'),
    body: row['body'] === null ? null : bytesOf(row, 'body'),
    ageMs: age === null ? null : Math.max(0, Number(age) - Number(textOf(row, 'held_ms'))),
    roundAgeMs: Number(textOf(row, 'round_age_ms')),
    knownForMs: Number(textOf(row, 'known_for_ms')),
    mayHaveArrived: booleanOf(row, 'may_have_arrived'),
    duplicateAccepted: booleanOf(row, 'duplicate_accepted'),
    endpointRevision: textOrNull(row, 'endpoint_revision'),
  };
}

/** The endpoint that rotation reached: the last one ahead of the cursor, or, after a wrap, the last one behind it. */
function lastServed(notifications: readonly ClaimedNotification[], cursor: string): string {
  const start = BigInt(cursor);
  let last: { key: bigint; isBehind: boolean } | undefined;
  for (const { endpointKey } of notifications) {
    const key = BigInt(endpointKey);
    const isBehind = key <= start;
    if (last === undefined || (isBehind && !last.isBehind) || (isBehind === last.isBehind && key > last.key)) {
      last = { key, isBehind };
    }
  }
  return last === undefined ? cursor : String(last.key);
}
