import type { Migration } from '../migrate.js';

/**
 * `enqueue(…)`: what `notify` does, for platforms in any language, inside their own transaction.
 *
 * The same event enqueued here and by `notify` has the same key; the bytes are the caller's JSON text, so one platform
 * should enqueue one kind of event from one place. Errors have SQLSTATE class BN.
 */
export const enqueueFunction: Migration = {
  version: 2,
  isBreaking: false,
  sql: (schema) => `
create function ${schema}.uuid_v7() returns uuid language sql volatile as $$
  -- RFC 9562 section 5.7: 48 bits of milliseconds, the version, random bits.
  select encode(set_byte(r.bytes, 6, (get_byte(r.bytes, 6) & 15) | 112), 'hex')::uuid
    from (select overlay(uuid_send(gen_random_uuid())
            placing substring(int8send(floor(extract(epoch from clock_timestamp()) * 1000)::bigint) from 3) from 1 for 6) as bytes) r
$$;

create function ${schema}.json_depth(json_text text) returns integer language plpgsql immutable as $$
declare
  -- Without the strings, whatever brackets they hold, and without everything that is no bracket.
  v_brackets text := regexp_replace(regexp_replace(json_text, '"(\\\\.|[^"\\\\])*"', '', 'g'), '[^][{}]', '', 'g');
  v_depth integer := 0;
  v_deepest integer := 0;
begin
  foreach v_brackets in array string_to_array(v_brackets, null) loop
    v_depth := v_depth + case when v_brackets in ('[', '{') then 1 else -1 end;
    v_deepest := greatest(v_deepest, v_depth);
  end loop;
  return v_deepest;
end
$$;

create function ${schema}.enqueue(
  source text, endpoint text, type text, biz_id text, data json default null,
  subject text default null, url text default null, occurred_at text default null, sequence bigint default null,
  policy text default null, max_attempts integer default null, lane text default 'normal',
  raw bytea default null, content_type text default null,
  out id text, out created boolean, out state text
) language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_body bytea;
  v_hash bytea;
  v_key record;
  v_endpoint_key bigint;
  v_held_ms bigint;
  v_uuid uuid;
begin
  perform ${schema}.refuse_unless(enqueue.source ~ '^[\\x21-\\x7e]{1,128}$', 'source', '1 to 128 printable ASCII characters');
  perform ${schema}.refuse_unless(enqueue.endpoint ~ '^[\\x21-\\x7e]{1,128}$', 'endpoint', '1 to 128 printable ASCII characters');
  perform ${schema}.refuse_unless(enqueue.type ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$', 'type', '1 to 64 of A-Z a-z 0-9 _ . : -');
  perform ${schema}.refuse_unless(enqueue.biz_id ~ '^[\\x21-\\x7e]{1,128}$', 'biz_id', '1 to 128 printable ASCII characters');
  perform ${schema}.refuse_unless(enqueue.subject is null or enqueue.subject ~ '^[\\x21-\\x7e]{1,128}$', 'subject', '1 to 128 printable ASCII characters');
  perform ${schema}.refuse_unless(enqueue.url is null or (enqueue.url ~ '^https?://[\\x21-\\x7e]+$' and length(enqueue.url) <= 2048), 'url', 'an http or https URL of at most 2048 characters');
  perform ${schema}.refuse_unless(enqueue.occurred_at is null or enqueue.occurred_at ~ '^\\d{4}-\\d{2}-\\d{2}[Tt]([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?([Zz]|[+-]\\d{2}:\\d{2})$', 'occurred_at', 'RFC 3339 with an offset');
  perform ${schema}.refuse_unless(enqueue.sequence is null or enqueue.sequence between 0 and 9007199254740991, 'sequence', 'from 0 to 2^53-1');
  perform ${schema}.refuse_unless(enqueue.max_attempts is null or enqueue.max_attempts between 1 and 1000, 'max_attempts', 'from 1 to 1000');
  perform ${schema}.refuse_unless(enqueue.policy is null or enqueue.policy in ('alipay', 'wechat', 'standard-webhooks', 'article', 'exponential'), 'policy', 'the name of a preset');
  perform ${schema}.refuse_unless(enqueue.lane in ('urgent', 'normal'), 'lane', 'urgent or normal');
  perform ${schema}.refuse_unless((enqueue.raw is null) <> (enqueue.data is null), 'data', 'given, or else raw, and not both');
  perform ${schema}.refuse_unless(enqueue.content_type is null or enqueue.content_type ~ '^[\\x20-\\x7e]{1,128}$', 'content_type', '1 to 128 printable ASCII characters');
  if enqueue.raw is null then
    v_body := convert_to('{"source":' || to_json(enqueue.source)::text || ',"to":' || to_json(enqueue.endpoint)::text
      || ',"type":' || to_json(enqueue.type)::text || ',"bizId":' || to_json(enqueue.biz_id)::text
      || coalesce(',"subject":' || to_json(enqueue.subject)::text, '')
      || coalesce(',"occurredAt":' || to_json(enqueue.occurred_at)::text, '')
      || coalesce(',"sequence":' || enqueue.sequence::text, '')
      || ',"data":' || enqueue.data::text || '}', 'UTF8');
  else
    v_body := enqueue.raw;
  end if;
  perform ${schema}.refuse_unless(octet_length(v_body) <= 262144, 'data', 'at most 256 KiB once encoded');
  perform ${schema}.refuse_unless(enqueue.raw is not null or ${schema}.json_depth(enqueue.data::text) <= 127, 'data', 'nested at most 127 deep');
  -- The pattern lets 31 February through; the cast does not (SQLSTATE 22008).
  perform enqueue.occurred_at::timestamptz;

  select e.key, e.held_ms + coalesce((extract(epoch from now() - e.held_at) * 1000)::bigint, 0) into v_endpoint_key, v_held_ms
    from ${schema}.endpoint e where e.source = enqueue.source and e.id = enqueue.endpoint;
  if v_endpoint_key is null then
    raise exception using errcode = 'BN002', message = format('endpoint %s does not exist for source %s; nothing was written', enqueue.endpoint, enqueue.source);
  end if;

  v_hash := sha256(convert_to(enqueue.source || ' ' || enqueue.endpoint || ' ' || enqueue.type || ' ' || enqueue.biz_id, 'UTF8'));
  v_uuid := ${schema}.uuid_v7();
  insert into ${schema}.notification_key (hash, id, digest) values (v_hash, v_uuid, sha256(v_body))
  on conflict (hash) do nothing returning number into v_key;
  if found then
    insert into ${schema}.notification (number, id, source, endpoint, type, biz_id, subject, url, policy, max_attempts, content_type, body)
    values (v_key.number, v_uuid, enqueue.source, enqueue.endpoint, enqueue.type, enqueue.biz_id, enqueue.subject, enqueue.url, enqueue.policy,
            enqueue.max_attempts, case when enqueue.raw is null then 'application/json' else coalesce(enqueue.content_type, 'application/octet-stream') end, v_body);
    insert into ${schema}.outbox (number, endpoint_key, lane, held_ms_before)
    values (v_key.number, v_endpoint_key, case when enqueue.lane = 'urgent' then 0 else 1 end, v_held_ms);
    id := 'ntf_' || v_uuid::text;
    created := true;
    state := 'pending';
    return;
  end if;

  -- A statement of its own: the key may have been committed by another session after ours began.
  select k.id, k.digest, coalesce(o.state, k.last_state) as state into v_key
    from ${schema}.notification_key k left join ${schema}.outbox o on o.number = k.number where k.hash = v_hash;
  if not found then
    raise exception using errcode = '40001', message = 'the same event was enqueued and taken back at this moment; retry the transaction';
  end if;
  if v_key.digest <> sha256(v_body) then
    raise exception using errcode = 'BN003',
      message = format('%s %s for endpoint %s was enqueued before as ntf_%s with another body; a changed fact needs a business id of its own', enqueue.type, enqueue.biz_id, enqueue.endpoint, v_key.id);
  end if;
  id := 'ntf_' || v_key.id::text;
  created := false;
  state := (array['pending', 'delivered', 'dead', 'cancelled', 'closed'])[v_key.state + 1];
end
$$;

create function ${schema}.refuse_unless(is_good boolean, member text, rule text) returns void language plpgsql immutable as $$
begin
  if is_good is not true then
    raise exception using errcode = 'BN001', message = format('%s must be %s; nothing was written', member, rule);
  end if;
end
$$;

revoke execute on function ${schema}.enqueue from public;
`,
};
