import { intOf, textOf, textOrNull, type Queryable, type Row } from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';
import type { AlertEvent } from './digest.js';

/** What to collect for. */
export interface CollectContext {
  schema: string;
  source: string;
}

const batchSize = 5_000;
/** What died longer ago, before alerts were switched on say, is nobody's news. */
const newsForMs = 24 * 60 * 60 * 1000;

/**
 * Marks the dead that nobody has been told of as told, in the transaction that writes the digest: after a crash in
 * between they are found again.
 *
 * @param abandoned - types whose dead nobody is told of.
 * @returns one event for each endpoint; the first reason is that of the one that died first.
 */
export async function collectDead(
  tx: Queryable,
  { schema, source }: CollectContext,
  abandoned: readonly string[],
): Promise<AlertEvent[]> {
  const events: AlertEvent[] = [];
  let after: [settledAt: string, number: string] = ['-infinity', '0'];
  for (let seen = batchSize; seen === batchSize;) {
    const rows = await tx.query(deadStatement(schema), [source, JSON.stringify(abandoned), newsForMs, ...after]);
    const [first] = rows;
    seen = first === undefined ? 0 : intOf(first, 'seen');
    if (first !== undefined && seen > 0) after = [textOf(first, 'last_settled_at'), textOf(first, 'last_number')];
    for (const row of rows) if (row['endpoint'] !== null) events.push(eventOf(row));
  }
  return events;
}

/**
 * $1 source · $2 abandoned types as a JSON array · $3 how old news may be, in ms · $4, $5 the last row of the batch before.
 *
 * Rows of another source are passed over, batch by batch. To ask for ours alone in one step took most of a second with
 * 300,000 dead: the planner takes nearly all of them for untold, and compiles what looks expensive.
 */
export function deadStatement(schema: string): string {
  const name = quoteSchema(schema);
  const first = (column: string) => `(array_agg(${column} order by t.settled_at, t.number))[1]`;
  return `
with seen as materialized (
  select o.number, o.settled_at from ${name}.outbox o
   where o.state = 2 and o.told_round <> o.round and o.settled_at > now() - $3::float8 * interval '1 millisecond'
     and (o.settled_at, o.number) > ($4::text::timestamptz, $5::text::bigint)
   order by o.settled_at, o.number limit ${batchSize}
), fresh as materialized (
  select o.number from ${name}.outbox o
   where o.number = any (array(
           select s.number from seen s where (select n.source from ${name}.notification n where n.number = s.number) = $1))
     and o.state = 2 and o.told_round <> o.round
     for update of o skip locked -- an operator has it right now: the next look is early enough
), told as (
  update ${name}.outbox o set told_round = o.round
   where o.number = any (array(select number from fresh))
  returning o.number, o.reason, o.settled_at
), grouped as (
  select n.endpoint, count(*)::int4 as count, (extract(epoch from min(t.settled_at)) * 1000)::bigint::text as at_ms,
         ${first('t.reason')} as reason, ${first('t.number')} as number
    from told t cross join lateral (select n.endpoint, n.type from ${name}.notification n where n.number = t.number limit 1) n
   where n.type <> all (array(select jsonb_array_elements_text($2::text::jsonb)))
   group by n.endpoint
)
select (select count(*)::int4 from seen) as seen, l.settled_at::text as last_settled_at, l.number::text as last_number,
       g.endpoint, g.count, g.at_ms, g.reason, n.id::text as id, n.type, n.biz_id,
       (select a.because from ${name}.attempt a where a.notification_number = g.number order by a.number desc limit 1) as last_attempt
  from (select 1) one
  left join (select * from seen order by settled_at desc, number desc limit 1) l on true
  left join grouped g on true
  left join ${name}.notification n on n.number = g.number
 order by g.at_ms, g.endpoint`;
}

function eventOf(row: Row): AlertEvent {
  const lastAttempt = textOrNull(row, 'last_attempt');
  return {
    kind: 'dead',
    endpoint: textOf(row, 'endpoint'),
    count: intOf(row, 'count'),
    reason: textOrNull(row, 'reason') ?? 'unknown',
    ...(lastAttempt !== null && { lastAttempt }),
    atMs: Number(textOf(row, 'at_ms')),
    notification: { id: `ntf_${textOf(row, 'id')}`, type: textOf(row, 'type'), bizId: textOf(row, 'biz_id') },
  };
}
