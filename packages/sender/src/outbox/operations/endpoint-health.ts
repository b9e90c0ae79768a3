import { ConfigurationError } from '../../errors.js';
import { listEndpoints, type Endpoint, type EndpointContext } from '../endpoints.js';
import { intOf, intOrNull, textOf, textOrNull } from '../database.js';
import { countClaims, isFree } from '../live-claims.js';
import { quoteSchema } from '../schema-name.js';
import { iso } from './queries.js';

/** Which endpoints, in the order of their ids. */
export interface HealthFilter {
  /** Only these. */
  endpoints?: readonly string[];
  /** At most 200. @default 50 */
  limit?: number;
  /** The last id of the page before. */
  after?: string;
}

/** An endpoint and how it is doing. Counts stop at 1,000. */
export interface EndpointHealth extends Endpoint {
  /** Requests under way now. */
  inFlight: number;
  /** Pending notifications that could be sent now. */
  due: number;
  pending: number;
  /** Charged attempts of its newest 100 notifications. */
  attempts: number;
  /** How many of those were acknowledged. */
  acknowledged: number;
  /** Half of them took at most this long, in ms; null without any. */
  p50Ms: number | null;
  p95Ms: number | null;
  lastAttemptAt: Date | null;
}

const countLimit = 1_000;
const newestNotifications = 100;

/** A page of endpoints with their health, from indexes alone. */
export async function endpointHealth(
  context: EndpointContext,
  { endpoints, limit = 50, after }: HealthFilter = {},
): Promise<{ items: EndpointHealth[]; next: string | null }> {
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 200)) {
    throw new ConfigurationError({ option: 'limit', problem: 'must be a whole number from 1 to 200' });
  }
  const page = await listEndpoints(context, {
    limit: limit + 1,
    ...(after !== undefined && { after }),
    ...(endpoints !== undefined && { ids: endpoints }),
  });
  const shown = page.slice(0, limit);
  const health = await readHealth(
    context,
    shown.map(({ id }) => id),
  );
  const items = shown.flatMap((endpoint) => {
    const facts = health.get(endpoint.id);
    return facts === undefined ? [] : [{ ...endpoint, ...facts }]; // removed in between
  });
  return { items, next: page.length > limit ? (shown.at(-1)?.id ?? null) : null };
}

async function readHealth(
  context: EndpointContext,
  ids: readonly string[],
): Promise<Map<string, Omit<EndpointHealth, keyof Endpoint>>> {
  const name = quoteSchema(context.schema);
  const count = (condition: string) =>
    `(select count(*)::int4 from (select 1 from ${name}.outbox o
       where o.state = 0 and o.lane in (0, 1) and o.endpoint_key = e.key and ${condition} limit ${countLimit}) c)`;
  const rows = await context.database.query(
    `select e.id, ${count('o.due_at > now() and o.claim_token is not null')} + ${countClaims(name, 'e.key')} as in_flight,
            ${count(`o.due_at <= now() and ${isFree}`)} as due, ${count('true')} as pending,
            l.attempts, l.acknowledged, l.p50_ms, l.p95_ms, ${iso('l.last_at')} as last_at
       from ${name}.endpoint e
       cross join lateral (
         select count(a.ordinal)::int4 as attempts,
                (count(a.ordinal) filter (where a.outcome = 'acknowledged'))::int4 as acknowledged,
                percentile_disc(0.5) within group (order by a.duration_ms) filter (where a.ordinal is not null) as p50_ms,
                percentile_disc(0.95) within group (order by a.duration_ms) filter (where a.ordinal is not null) as p95_ms,
                max(a.started_at) as last_at
           from (select n.number from ${name}.notification n where n.endpoint = e.id and n.source = e.source
                  order by n.number + 0 desc limit ${newestNotifications}) n
           cross join lateral (select * from ${name}.attempt a where a.notification_number = n.number
                                order by a.number desc limit 20) a) l
      where e.source = $1 and e.id = any (array(select jsonb_array_elements_text($2::text::jsonb)))`,
    [context.source, JSON.stringify(ids)],
  );
  return new Map(
    rows.map((row) => {
      const lastAt = textOrNull(row, 'last_at');
      const facts = {
        inFlight: intOf(row, 'in_flight'),
        due: intOf(row, 'due'),
        pending: intOf(row, 'pending'),
        attempts: intOf(row, 'attempts'),
        acknowledged: intOf(row, 'acknowledged'),
        p50Ms: intOrNull(row, 'p50_ms'),
        p95Ms: intOrNull(row, 'p95_ms'),
        lastAttemptAt: lastAt === null ? null : new Date(lastAt),
      };
      return [textOf(row, 'id'), facts];
    }),
  );
}
