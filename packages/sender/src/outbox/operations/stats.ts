import { checkMoment } from '../check-values.js';
import { intOf, textOf } from '../database.js';
import { countClaims, isFree } from '../live-claims.js';
import { quoteSchema } from '../schema-name.js';
import { endpointList, isAmong, type OperationContext } from './context.js';

/** What to count. */
export interface StatsOptions {
  /** Only these endpoints. */
  endpoints?: readonly string[];
  /** Count as `diedSince` what died at or after this moment. @default the last 24 hours */
  diedSince?: Date;
}

/** How the outbox is doing. Counts stop at 10,000, so that asking costs the same on a bad day. */
export interface Stats {
  due: number;
  /** What workers hold right now, of the first 2,000 endpoints in each lane that have anything pending. */
  inFlight: number;
  dead: number;
  /** Notifications that died since `diedSince`. */
  diedSince: number;
  heldEndpoints: number;
  parkedEndpoints: number;
  /** How long the notification that has been due longest has waited, in ms; 0 if none is due. */
  oldestDueMs: number;
}

const statsCountLimit = 10_000;
/** Endpoints of each lane that are asked how much of theirs is in flight. */
const endpointLimit = 2_000;

/** Reads the outbox's state from its indexes, without counting tables. */
export async function stats(context: OperationContext, options: StatsOptions = {}): Promise<Stats> {
  const { endpoints, diedSince } = options;
  checkMoment('diedSince', diedSince);
  const name = quoteSchema(context.schema);
  const count = (from: string) => `(select count(*)::int4 from (select 1 from ${from} limit ${statsCountLimit}) c)`;
  const isOurs = isAmong('e.id', '$2');
  // For some endpoints the index is another one, and every count goes through the endpoint.
  const pending =
    endpoints === undefined
      ? `${name}.outbox o where o.state = 0 and o.lane + 0 in (0, 1)`
      : `${name}.endpoint e join ${name}.outbox o on o.endpoint_key = e.key and o.state = 0 and o.lane in (0, 1)
          where e.source = $1 and ${isOurs}`;
  const dead =
    endpoints === undefined
      ? `${name}.outbox o where o.state = 2`
      : `${name}.outbox o join ${name}.endpoint e on e.key = o.endpoint_key where e.source = $1 and ${isOurs} and o.state = 2`;
  const oldest =
    endpoints === undefined
      ? `least((select min(o.due_at) from ${name}.outbox o where o.state = 0 and o.lane + 0 = 0 and ${isFree}),
               (select min(o.due_at) from ${name}.outbox o where o.state = 0 and o.lane + 0 = 1 and ${isFree}))`
      : `(select min(o.due_at) from ${name}.endpoint e
           cross join lateral (select least(
             (select min(o.due_at) from ${name}.outbox o where o.state = 0 and o.lane = 0 and o.endpoint_key = e.key and ${isFree}),
             (select min(o.due_at) from ${name}.outbox o where o.state = 0 and o.lane = 1 and o.endpoint_key = e.key and ${isFree})) as due_at) o
          where e.source = $1 and ${isOurs})`;
  const claimed =
    endpoints === undefined
      ? endpointsWithPending(name)
      : `select e.key from ${name}.endpoint e where e.source = $1 and ${isOurs}`;
  const claims = `(select coalesce(sum(${countClaims(name, 'p.key')}), 0)::int4 from (${claimed}) p(key))`;
  const [row] = await context.database.query(
    `select ${count(`${pending} and o.due_at <= now() and ${isFree}`)} as due,
            ${count(`${pending} and o.due_at > now() and o.due_at < now() + interval '2 minutes' and o.claim_token is not null`)}
              + ${claims} as in_flight,
            ${count(dead)} as dead,
            ${count(`${dead} and o.settled_at >= coalesce($3::text::timestamptz, now() - interval '1 day')`)} as died_since,
            ${count(`${name}.endpoint e where e.source = $1 and ${isOurs} and e.held_at is not null`)} as held,
            ${count(`${name}.endpoint e join ${name}.endpoint_health h on h.endpoint_key = e.key
                     where e.source = $1 and ${isOurs} and h.parked_until is not null`)} as parked,
            coalesce((extract(epoch from now() - ${oldest}) * 1000), 0)::text as oldest_ms`,
    [context.source, endpointList(endpoints), diedSince?.toISOString() ?? null],
  );
  if (row === undefined) throw new Error('stats gave no row');
  return {
    due: intOf(row, 'due'),
    inFlight: intOf(row, 'in_flight'),
    dead: intOf(row, 'dead'),
    diedSince: intOf(row, 'died_since'),
    heldEndpoints: intOf(row, 'held'),
    parkedEndpoints: intOf(row, 'parked'),
    oldestDueMs: Math.max(0, Math.round(Number(textOf(row, 'oldest_ms')))),
  };
}

/** As a loose scan: from each endpoint that has pending rows to the next one. Which of them a worker holds, no index says. */
function endpointsWithPending(name: string): string {
  const next = (lane: number, after: string) =>
    `select o.endpoint_key from ${name}.outbox o where o.state = 0 and o.lane = ${lane} and o.endpoint_key > ${after} order by o.endpoint_key limit 1`;
  const lanes = [0, 1].map(
    (lane) => `(with recursive found (key) as (
        (${next(lane, '0')}) union all select n.endpoint_key from found f cross join lateral (${next(lane, 'f.key')}) n
      ) select key from found limit ${endpointLimit})`,
  );
  return lanes.join(' union ');
}
