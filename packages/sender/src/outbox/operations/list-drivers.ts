import { textOrNull, type Parameter } from '../database.js';
import { quoteSchema } from '../schema-name.js';
import { stateNumber } from '../states.js';
import { uuidOf, type OperationContext } from './context.js';
import { commonReasons, type NotificationFilter } from './filter.js';

/** The numbers of candidates, read from one index in the order of the page. */
export interface Driver {
  /** How many it reads at most. */
  scan: number;
  sql: string;
  parameters: readonly Parameter[];
  /** By due time instead of newest first. */
  isDueOrder: boolean;
}

/** How many rows one page may look at. Twice as many would make the planner think of compiling the statement. */
export const scanLimit = 5_000;

/** How far the order of numbers and that of creation may differ: the longest that an enqueueing transaction stays open. */
const skew = `interval '1 hour'`;

/** Pending notifications are listed by what comes next, unless something else already says which ones. */
export function isDueOrder(filter: NotificationFilter): boolean {
  const { state, ids, search, bizId, subject, reason } = filter;
  return state === 'pending' && [ids, search, bizId, subject, reason].every((member) => member === undefined);
}

/** What could lead to the notifications that a filter names, most selective first; never none. */
export async function driversOf(
  context: OperationContext,
  filter: NotificationFilter,
  place: { position: readonly string[] | undefined; scan: number },
): Promise<Driver[]> {
  const { position, scan } = place;
  if (isDueOrder(filter)) return [dueDriver(context, filter, place)];
  const [before] = position ?? [];
  const bounds = await numberBounds(context, filter);
  const name = quoteSchema(context.schema);
  const driver = (value: Parameter | undefined, from: (placeholder: string, bound: Bound) => string): Driver[] => {
    if (value === undefined) return [];
    const parameters: Parameter[] = [context.source, value, before ?? null, ...bounds];
    const bound: Bound = (number) =>
      `($1::text is not null and ${number} < coalesce($3::text::bigint, 9223372036854775807)
        and ${number} >= coalesce($4::text::bigint, 0) and ${number} <= coalesce($5::text::bigint, 9223372036854775807))
        order by ${number} desc limit ${scan}`;
    return [{ sql: from('$2', bound), parameters, scan, isDueOrder: false }];
  };
  // `+ 0` makes it the index on that very expression, which the planner cannot trade for the primary key.
  const notification = (column: string) => (placeholder: string, bound: Bound) =>
    `select n.number + 0 as number from ${name}.notification n where n.${column} = ${placeholder} and ${bound('(n.number + 0)')}`;
  const ended = (state: number) => (placeholder: string, bound: Bound) =>
    `select o.number + 0 as number from ${name}.outbox o where ${placeholder}::text is not null and o.state = ${state} and ${bound('(o.number + 0)')}`;
  const { state, reason } = filter;
  const isEnded = state === 'dead' || state === 'cancelled' || state === 'closed';
  const drivers = [
    ...driver(
      filter.ids && JSON.stringify(filter.ids.map(uuidOf)),
      (p, bound) =>
        `select n.number from (select n.number from ${name}.notification n
            where n.id = any (array(select jsonb_array_elements_text(${p}::text::jsonb)::uuid)) offset 0) n where ${bound('n.number')}`,
    ),
    ...driver(filter.bizId, notification('biz_id')),
    ...driver(filter.subject, notification('subject')),
    ...driver(
      filter.search,
      (p, bound) =>
        `select number from ((${notification('biz_id')(p, bound)}) union (${notification('subject')(p, bound)})) n order by number desc limit ${scan}`,
    ),
    ...driver(
      reason === undefined || commonReasons.includes(reason) ? undefined : reason,
      (p, bound) =>
        `select o.number + 0 as number from ${name}.outbox o
          where o.reason = ${p} and o.state <> 0 and ${isUncommon('o')} and ${bound('(o.number + 0)')}`,
    ),
    ...(isEnded ? driver(state, ended(stateNumber(state))) : []),
    ...driver(filter.endpoint, notification('endpoint')),
    ...driver(
      filter.endpoints && JSON.stringify(filter.endpoints),
      (p, bound) => `select number from jsonb_array_elements_text(${p}::text::jsonb) e(id)
        cross join lateral (${notification('endpoint')('e.id', bound)}) n
        order by number desc limit ${scan}`,
    ),
    ...driver(filter.type, notification('type')),
  ];
  if (drivers.length > 0) return drivers;
  return driver(
    'all',
    (p, bound) => `select o.number from ${name}.outbox o where ${p}::text is not null and ${bound('o.number')}`,
  );
}

type Bound = (number: string) => string;

/** The condition of the index over reasons that are worth a filter, literally. */
function isUncommon(table: string): string {
  return `${table}.reason not in (${commonReasons.map((reason) => `'${reason}'`).join(', ')})`;
}

function dueDriver(
  context: OperationContext,
  filter: NotificationFilter,
  { position, scan }: { position: readonly string[] | undefined; scan: number },
): Driver {
  const name = quoteSchema(context.schema);
  const only = filter.endpoint === undefined ? filter.endpoints : [filter.endpoint];
  const [dueUs, number] = position ?? [];
  const parameters: Parameter[] = [context.source, only === undefined ? null : JSON.stringify(only)];
  parameters.push(dueUs ?? null, number ?? null);
  const beyond = `o.due_at >= coalesce('epoch'::timestamptz + $3::text::bigint * interval '1 microsecond', '-infinity'::timestamptz)
        and ($3::text is null or (o.due_at, o.number) > ('epoch'::timestamptz + $3::text::bigint * interval '1 microsecond', $4::text::bigint))
      order by o.due_at, o.number limit ${scan}`;
  const lanes = [0, 1].map((lane) =>
    only === undefined
      ? `(select o.number, o.due_at from ${name}.outbox o where o.state = 0 and (o.lane + 0) = ${lane} and ${beyond})`
      : `(select o.number, o.due_at from ${name}.endpoint e
            cross join lateral (select o.number, o.due_at from ${name}.outbox o
              where o.state = 0 and o.lane = ${lane} and o.endpoint_key = e.key and ${beyond}) o
           where e.source = $1 and e.id = any (array(select jsonb_array_elements_text($2::text::jsonb))))`,
  );
  return {
    sql: `select number, due_us from (
         select number, (extract(epoch from due_at) * 1000000)::bigint as due_us from (${lanes.join(' union all ')}) o) o
       where $1::text is not null and coalesce($2::text, $3::text, $4::text, '') is not null order by due_us, number limit ${scan}`,
    parameters,
    scan,
    isDueOrder: true,
  };
}

/** `since` and `until` as numbers, found by bisection over the primary key: no index on the time is needed. */
async function numberBounds(context: OperationContext, filter: NotificationFilter): Promise<(string | null)[]> {
  const name = quoteSchema(context.schema);
  const bisect = async (moment: string) => {
    const [row] = await context.database.query(
      `with recursive search(lo, hi) as (
         select min(number), max(number) + 1 from ${name}.notification
         union all
         select case when p.created_at < m.moment then p.number + 1 else s.lo end,
                case when p.created_at < m.moment then s.hi else (s.lo + s.hi) / 2 end
           from search s
           cross join (select ${moment} as moment) m
           cross join lateral (select n.number, n.created_at from ${name}.notification n
                                where n.number >= (s.lo + s.hi) / 2 order by n.number limit 1) p
          where s.lo < s.hi
       )
       select min(hi)::text as number from search`,
      [filter.since?.toISOString() ?? null, filter.until?.toISOString() ?? null],
    );
    return row === undefined ? null : textOrNull(row, 'number');
  };
  const given = (moment: string) => `case when coalesce($1::text, $2::text) is not null then ${moment} end`;
  return [
    filter.since === undefined ? null : await bisect(given(`$1::text::timestamptz - ${skew}`)),
    filter.until === undefined ? null : await bisect(given(`$2::text::timestamptz + ${skew}`)),
  ];
}
