import { arrayLiteral, type Parameter } from '../outbox/database.js';
import { heldMs } from '../outbox/held-time.js';
import { quoteSchema } from '../outbox/schema-name.js';
import type { EncodedNotification, KeyedRow } from './enqueue.js';

interface Column {
  name: string;
  type: string;
  of: (row: EncodedNotification) => string | number | null;
}

/** What the statement reads of a notification beside its bytes, column by column: PostgreSQL reads arrays several times faster than JSON. */
const columns: readonly Column[] = [
  { name: 'uuid', type: 'uuid', of: ({ uuid }) => uuid },
  { name: 'source', type: 'text', of: ({ source }) => source },
  { name: 'endpoint', type: 'text', of: ({ endpoint }) => endpoint },
  { name: 'type', type: 'text', of: ({ type }) => type },
  { name: 'biz_id', type: 'text', of: ({ bizId }) => bizId },
  { name: 'subject', type: 'text', of: ({ subject }) => subject },
  { name: 'url', type: 'text', of: ({ url }) => url },
  { name: 'lane', type: 'smallint', of: ({ lane }) => lane },
  { name: 'policy', type: 'text', of: ({ policy }) => policy },
  { name: 'max_attempts', type: 'integer', of: ({ maxAttempts }) => maxAttempts },
  { name: 'content_type', type: 'text', of: ({ contentType }) => contentType },
  { name: 'size', type: 'integer', of: ({ body }) => body.byteLength },
];

/** Named only where somebody traces: else the column has its default, and the statement costs what it did without it. */
const traceColumn: Column = { name: 'traceparent', type: 'text', of: ({ traceparent }) => traceparent ?? null };

function columnsFor(rows: readonly KeyedRow[]): readonly Column[] {
  return rows.some(({ notification }) => notification.traceparent !== undefined) ? [...columns, traceColumn] : columns;
}

/** The statement for these rows, and its parameters. */
export function enqueueQuery(schema: string, rows: readonly KeyedRow[]): [text: string, parameters: Parameter[]] {
  const used = columnsFor(rows);
  return [enqueueStatement(schema, used), enqueueParameters(rows, used)];
}

/**
 * All bodies in one text and all hashes and digests in another, because drivers disagree on arrays of bytea and send a
 * bytea at two characters a byte; where each body begins; then one array for each column.
 */
function enqueueParameters(rows: readonly KeyedRow[], used: readonly Column[]): Parameter[] {
  const starts: number[] = [];
  let keys = '';
  let at = 1; // substring() counts from one
  for (const { hash, digest, notification } of rows) {
    keys += hash + digest;
    starts.push(at);
    at += notification.body.byteLength;
  }
  const bodies = Buffer.concat(
    rows.map(({ notification }) => notification.body),
    at - 1,
  );
  return [
    bodies.toString('base64'),
    keys,
    arrayLiteral(starts),
    ...used.map(({ of }) => columnLiteral(rows.map(({ notification }) => of(notification)))),
  ];
}

/** A column without values is sent as an empty array: unnest() gives nulls for what an array lacks. */
function columnLiteral(values: readonly (string | number | null)[]): string {
  return values.every((value) => value === null) ? '{}' : arrayLiteral(values);
}

/**
 * Inserts any number of notifications at once; its parameters are {@link enqueueParameters}.
 *
 * Gives a row for each notification that was not inserted, with its place from 1 on: `outcome` 0 its key exists, 2 its
 * endpoint does not exist; if any is 2, nothing at all was inserted. The keys are inserted in order: two callers with
 * opposite orders would deadlock. Each notification has its number before its key is inserted, so that what was inserted
 * is known by a number: looking for hashes cost several times as much.
 */
function enqueueStatement(schema: string, used: readonly Column[]): string {
  const name = quoteSchema(schema);
  const [into, from] = used.includes(traceColumn) ? [', traceparent', ', i.traceparent'] : ['', ''];
  // "is true" keeps this a look into a hash table, whatever the planner thinks of the number of rows.
  const wasKept = `(i.number in (select k.number from kept k)) is true`;
  return `
with input as materialized ( -- without the bodies, which would be copied each time it is read
  select nextval('${name}.notification_number') as number,
         substring((select decode($2::text, 'hex')) from i.place::int4 * 64 - 63 for 64) as key, i.*
    from (
      select e.key as endpoint_key, ${heldMs} as held_ms, i.*
        from unnest($3::text::int[], ${used.map(({ type }, index) => `$${index + 4}::text::${type}[]`).join(', ')})
          with ordinality as i(at, ${used.map((column) => column.name).join(', ')}, place)
        left join ${name}.endpoint e on e.source = i.source and e.id = i.endpoint
       order by i.place -- numbers in the order given: a join alone may go endpoint by endpoint
    ) i
), kept as (
  insert into ${name}.notification_key (hash, number, id, digest)
  select substring(i.key from 1 for 32), i.number, i.uuid, substring(i.key from 33)
    from input i
   where not exists (select 1 from input m where m.endpoint_key is null)
   order by 1
  on conflict (hash) do nothing
  returning number
), stored as (
  insert into ${name}.notification (number, id, source, endpoint, type, biz_id, subject, url, policy, max_attempts, content_type, body${into})
  select i.number, i.uuid, i.source, i.endpoint, i.type, i.biz_id, i.subject, i.url, i.policy, i.max_attempts, i.content_type,
         substring((select decode($1::text, 'base64')) from i.at for i.size)${from}
    from input i
   where ${wasKept}
), queued as (
  insert into ${name}.outbox (number, endpoint_key, lane, held_ms_before)
  select i.number, i.endpoint_key, i.lane, i.held_ms
    from input i
   where ${wasKept}
)
select i.place::int4 as place, case when i.endpoint_key is null then 2 else 0 end as outcome
  from input i
 where not (${wasKept})`;
}

/** What is known under the key hashes in $1, a JSON array of hex texts. */
export function knownStatement(schema: string): string {
  const name = quoteSchema(schema);
  return `
select encode(k.hash, 'hex') as hash, k.id::text as id, encode(k.digest, 'hex') as digest,
       coalesce(o.state, k.last_state)::int4 as state
  from ${name}.notification_key k
  left join ${name}.outbox o on o.number = k.number
 where k.hash = any (array(select decode(h, 'hex') from jsonb_array_elements_text($1::text::jsonb) h))`;
}

/** Takes back what this transaction has just inserted under the key hashes in $1. */
export function forgetStatement(schema: string): string {
  const name = quoteSchema(schema);
  return `
with forgotten as (
  delete from ${name}.notification_key
   where hash = any (array(select decode(h, 'hex') from jsonb_array_elements_text($1::text::jsonb) h))
  returning number
), bodies as (
  delete from ${name}.notification where number = any (array(select number from forgotten))
)
delete from ${name}.outbox where number = any (array(select number from forgotten))`;
}
