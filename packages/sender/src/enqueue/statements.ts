import { heldMs } from '../outbox/held-time.js';
import { quoteSchema } from '../outbox/schema-name.js';

/**
 * Inserts any number of notifications at once: $1 their facts as a JSON array, $2 all their bodies in one string of
 * bytes (drivers disagree on arrays of bytea).
 *
 * Gives a row per notification: `outcome` 1 inserted, 0 its key exists, 2 its endpoint does not exist; if any is 2,
 * nothing at all was inserted. The keys are inserted in order: two callers with opposite orders would deadlock.
 */
export function enqueueStatement(schema: string): string {
  const name = quoteSchema(schema);
  return `
with input as materialized (
  select decode(i.hash, 'hex') as key_hash, decode(i.digest, 'hex') as body_digest,
         substring($2::bytea from i.at for i.size) as body, i.*
    from jsonb_to_recordset($1::text::jsonb) as i(
      hash text, digest text, uuid uuid, source text, endpoint text, type text, "bizId" text, subject text, url text,
      lane smallint, policy text, "maxAttempts" integer, "contentType" text, at integer, size integer)
), target as materialized (
  select i.key_hash, e.key as endpoint_key, ${heldMs} as held_ms
    from input i left join ${name}.endpoint e on e.source = i.source and e.id = i.endpoint
), kept as (
  insert into ${name}.notification_key (hash, id, digest)
  select i.key_hash, i.uuid, i.body_digest
    from input i
   where not exists (select 1 from target t where t.endpoint_key is null)
   order by i.key_hash
  on conflict (hash) do nothing
  returning hash, number
), stored as (
  insert into ${name}.notification (number, id, source, endpoint, type, biz_id, subject, url, policy, max_attempts, content_type, body)
  select k.number, i.uuid, i.source, i.endpoint, i.type, i."bizId", i.subject, i.url, i.policy, i."maxAttempts", i."contentType", i.body
    from kept k join input i on i.key_hash = k.hash
), queued as (
  insert into ${name}.outbox (number, endpoint_key, lane, held_ms_before)
  select k.number, t.endpoint_key, i.lane, t.held_ms
    from kept k join input i on i.key_hash = k.hash join target t on t.key_hash = k.hash
)
select i.hash, i.endpoint,
       case when t.endpoint_key is null then 2 when k.hash is null then 0 else 1 end as outcome
  from input i
  join target t on t.key_hash = i.key_hash
  left join kept k on k.hash = i.key_hash`;
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
