import { ConfigurationError } from '../../errors.js';
import { checkTexts } from '../check-values.js';
import { intOf, textOf, type Database, type Row } from '../database.js';
import { quoteSchema } from '../schema-name.js';
import type { OperationContext } from './context.js';

/** What to look at. */
export interface ActivityOptions {
  /** How far back, in whole minutes; 1 to 180. @default 60 */
  minutes?: number;
  /** Only these endpoints. Their newest 1,000 notifications are looked at. */
  endpoints?: readonly string[];
}

/** What happened in one minute, by the database's clock. */
export interface ActivityMinute {
  at: Date;
  /** Attempts that the merchant acknowledged. */
  delivered: number;
  /** Attempts that were made and not acknowledged. */
  failed: number;
  /** Half of the attempts took at most this long, in ms; null without any. */
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  /** Only the first 20,000 attempts of the minute were read: the counts are too low, the percentiles are a sample. */
  isCapped: boolean;
}

const attemptsPerMinute = 20_000;
/** An attempt is logged when it is settled, which may be this long after it began: until then its minute is read again. */
const openMinutes = 3;
const maxMinutes = 180;
const newestNotifications = 1_000;

/**
 * Attempts per minute, oldest first, this minute last.
 *
 * Bounded however busy the outbox is: a minute is read up to a cap from the index over time, and one that is over is
 * remembered in this process.
 */
export function createActivity(): (context: OperationContext, options?: ActivityOptions) => Promise<ActivityMinute[]> {
  const remembered = new Map<number, ActivityMinute>();
  return async (context, { minutes = 60, endpoints } = {}) => {
    if (!(Number.isInteger(minutes) && minutes >= 1 && minutes <= maxMinutes)) {
      throw new ConfigurationError({ option: 'minutes', problem: `must be a whole number from 1 to ${maxMinutes}` });
    }
    checkTexts('endpoints', endpoints);
    if (endpoints !== undefined) return (await readOf(context, { minutes, endpoints })).map(minuteOf);
    const newest = await newestMinute(context.database);
    const wanted = Array.from({ length: minutes }, (_, index) => newest - (minutes - 1 - index));
    const missing = wanted.filter((minute) => !remembered.has(minute));
    const read = new Map((await readMinutes(context, missing)).map((row) => [intOf(row, 'minute'), minuteOf(row)]));
    for (const [minute, activity] of read) if (minute <= newest - openMinutes) remembered.set(minute, activity);
    for (const minute of remembered.keys()) if (minute <= newest - maxMinutes) remembered.delete(minute);
    return wanted.flatMap((minute) => remembered.get(minute) ?? read.get(minute) ?? []);
  };
}

async function newestMinute(database: Database): Promise<number> {
  const [row] = await database.query(`select floor(extract(epoch from now()) / 60)::int4 as minute`, []);
  return row === undefined ? 0 : intOf(row, 'minute');
}

const figures = `
       (count(*) filter (where outcome = 'acknowledged'))::int4 as delivered,
       (count(*) filter (where outcome in ('refused', 'no-answer', 'not-sent')))::int4 as failed,
       coalesce(array_to_json(percentile_disc(array[0.5, 0.95, 0.99])
         within group (order by duration_ms) filter (where outcome in ('acknowledged', 'refused', 'no-answer')))::text, '[]') as percentiles,
       (count(outcome) >= ${attemptsPerMinute}) as is_capped`;

function readMinutes(context: OperationContext, minutes: readonly number[]): Promise<Row[]> {
  return context.database.query(
    `select m.minute, ${figures}
       from (select value::int4 as minute from jsonb_array_elements_text($1::text::jsonb)) m
       left join lateral (
         select a.outcome, a.duration_ms from ${quoteSchema(context.schema)}.attempt a
          where a.started_at >= to_timestamp(m.minute::float8 * 60) and a.started_at < to_timestamp(m.minute::float8 * 60 + 60)
          limit ${attemptsPerMinute}) a on true
      group by m.minute`,
    [JSON.stringify(minutes)],
  );
}

/** The log does not name the endpoint: it is found through the endpoint's notifications. */
function readOf(
  context: OperationContext,
  { minutes, endpoints }: { minutes: number; endpoints: readonly string[] },
): Promise<Row[]> {
  const name = quoteSchema(context.schema);
  return context.database.query(
    `with newest as materialized (
       select n.number from jsonb_array_elements_text($1::text::jsonb) e(id)
         cross join lateral (select n.number from ${name}.notification n
           where n.endpoint = e.id and n.source = $2 order by n.number + 0 desc limit ${newestNotifications}) n
        order by n.number desc limit ${newestNotifications}
     ), logged as materialized (
       select a.outcome, a.duration_ms, floor(extract(epoch from a.started_at) / 60)::int4 as minute
         from newest n cross join lateral (select * from ${name}.attempt a where a.notification_number = n.number
           order by a.number desc limit 50) a
        where a.started_at >= date_trunc('minute', now()) - ($3::int4 - 1) * interval '1 minute'
     )
     select m.minute, ${figures}
       from generate_series(floor(extract(epoch from now()) / 60)::int4 - $3::int4 + 1, floor(extract(epoch from now()) / 60)::int4) m(minute)
       left join logged l on l.minute = m.minute
      group by m.minute order by m.minute`,
    [JSON.stringify(endpoints), context.source, minutes],
  );
}

function minuteOf(row: Row): ActivityMinute {
  const [p50Ms = null, p95Ms = null, p99Ms = null] = (JSON.parse(textOf(row, 'percentiles')) ?? []) as number[];
  return {
    at: new Date(intOf(row, 'minute') * 60_000),
    delivered: intOf(row, 'delivered'),
    failed: intOf(row, 'failed'),
    p50Ms,
    p95Ms,
    p99Ms,
    isCapped: row['is_capped'] === true,
  };
}
