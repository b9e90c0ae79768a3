/** The statements of the inbox, for one schema. Parameters are text, columns are cast to text. */
export type InboxSql = ReturnType<typeof inboxSql>;

const claimable = `(l.token is null or l.token = excluded.token or l.lease_ends_at <= clock_timestamp())`;
const leaseEnd = (ms: string): string => `clock_timestamp() + make_interval(secs => ${ms}::text::float8 / 1000)`;
const clockUs = `(extract(epoch from clock_timestamp()) * 1000000)::bigint`;
const takeOver = `
       do update set token = excluded.token, lease_ends_at = excluded.lease_ends_at,
                     attempt = l.attempt + case when l.token = excluded.token then 0 else 1 end,
                     fence = case when l.token = excluded.token then l.fence else greatest(l.fence + 1, excluded.fence) end
        where l.digest = excluded.digest and ${claimable}`;

export function inboxSql(schema: string | undefined) {
  const table = (name: string): string => (schema === undefined ? name : `"${schema}".${name}`);
  const inbox = table('bestnotify_inbox');
  const lease = table('bestnotify_inbox_lease');
  const latest = table('bestnotify_inbox_latest');
  return {
    // One statement, so that it needs no connection of its own; the lock keeps two starting processes from tripping over each other.
    migrate: `do $migrate$ begin
  perform pg_advisory_xact_lock(7215801442081623);
  ${schema === undefined ? '' : `create schema if not exists "${schema}";`}
  create table if not exists ${inbox} (
    key text primary key,
    digest text not null,
    recorded_at timestamptz not null default now()
  );
  create index if not exists bestnotify_inbox_recorded_at on ${inbox} (recorded_at);
  create table if not exists ${lease} (
    key text primary key,
    digest text not null,
    token text,
    lease_ends_at timestamptz not null,
    attempt int not null,
    fence bigint not null
  ) with (fillfactor = 70);
  create table if not exists ${latest} (
    subject text primary key,
    done_sequence bigint not null,
    recorded_at timestamptz not null default now()
  );
end $migrate$`,

    // $1 key, $2 digest, $3 token, $4 lease ms
    acquire: `
with recorded as (select digest from ${inbox} where key = $1::text),
claimed as (
  insert into ${lease} as l (key, digest, token, lease_ends_at, attempt, fence)
  select $1::text, $2::text, $3::text, ${leaseEnd('$4')}, 1, ${clockUs}
   where not exists (select from recorded)
      on conflict (key) ${takeOver}
  returning l.attempt, l.fence
)
select attempt::text as attempt, fence::text as fence from claimed`,

    // The guard's row is a lease too: whoever gets it may try for the record, so both are taken or none is.
    // $1 to $4 as above, $5 subject, $6 sequence
    acquireOrdered: `
with recorded as (select digest from ${inbox} where key = $1::text),
held as (
  select from ${lease} h
   where h.key = $1::text
     and (h.digest <> $2::text or (h.token is not null and h.token <> $3::text and h.lease_ends_at > clock_timestamp()))
),
newer as (select from ${latest} where subject = $5::text and done_sequence > $6::text::bigint),
guard as (
  insert into ${lease} as l (key, digest, token, lease_ends_at, attempt, fence)
  select $5::text, '', $3::text, ${leaseEnd('$4')}, 1, ${clockUs}
   where not exists (select from recorded) and not exists (select from held) and not exists (select from newer)
      on conflict (key) ${takeOver}
  returning l.fence
),
claimed as (
  insert into ${lease} as l (key, digest, token, lease_ends_at, attempt, fence)
  select $1::text, $2::text, $3::text, ${leaseEnd('$4')}, 1, guard.fence from guard
      on conflict (key) ${takeOver}
  returning l.attempt, l.fence
)
select attempt::text as attempt, fence::text as fence from claimed`,

    // Asked when a claim was refused. $1 key, $2 subject or '', $3 sequence or '0', $4 token
    explain: `
select (select digest from ${inbox} where key = $1::text) as recorded,
       l.digest as digest,
       case when l.token <> $4::text then ceil(extract(epoch from l.lease_ends_at - clock_timestamp()) * 1000)::bigint::text end as remaining,
       (select true::text from ${latest} where subject = $2::text and done_sequence > $3::text::bigint) as newer,
       (select ceil(extract(epoch from g.lease_ends_at - clock_timestamp()) * 1000)::bigint::text
          from ${lease} g where g.key = $2::text and g.token <> $4::text) as guarded
  from (select 1) one left join ${lease} l on l.key = $1::text`,

    // $1 key, $2 subject or the key again, $3 token, $4 lease ms
    // Both or none: a record whose guard was taken over must not be held any longer.
    renew: `
update ${lease} set lease_ends_at = ${leaseEnd('$4')}
 where key in ($1::text, $2::text) and token = $3::text
   and (select count(*) from ${lease} where key in ($1::text, $2::text) and token = $3::text)
       = case when $1::text = $2::text then 1 else 2 end
returning key`,

    release: `
update ${lease} set token = null, lease_ends_at = clock_timestamp()
 where key in ($1::text, $2::text) and token = $3::text
returning key`,

    complete: `
with recorded as (select digest from ${inbox} where key = $1::text),
gone as (
  delete from ${lease}
   where key in ($1::text, $2::text) and token = $3::text and exists (select from recorded)
)
select digest from recorded`,

    record: `insert into ${inbox} (key, digest) values ($1::text, $2::text) on conflict (key) do nothing returning key`,
    recorded: `select digest from ${inbox} where key = $1::text`,

    // $1 subject, $2 sequence: no row when something newer is done
    advance: `
insert into ${latest} as n (subject, done_sequence) values ($1::text, $2::text::bigint)
    on conflict (subject) do update set done_sequence = excluded.done_sequence, recorded_at = now()
       where n.done_sequence <= excluded.done_sequence
returning subject`,

    // $1 key, $2 subject or ''
    forget: `
with leases as (delete from ${lease} where key in ($1::text, $2::text) returning key),
     subjects as (delete from ${latest} where subject = $2::text),
     records as (delete from ${inbox} where key = $1::text returning key)
select key from records union select key from leases where key = $1::text`,

    // Small batches, oldest first, by an index, so that a clean-up never holds up a payment. $1 age ms, $2 limit
    prune: `
with old as (
  select key from ${inbox}
   where recorded_at < now() - make_interval(secs => $1::text::float8 / 1000)
   order by recorded_at limit $2::text::int for update skip locked
),
records as (delete from ${inbox} where key in (select key from old) returning key),
leases as (
  delete from ${lease} where key in (
    select key from ${lease}
     where lease_ends_at < now() - make_interval(secs => $1::text::float8 / 1000) limit $2::text::int for update skip locked)
)
select count(*)::text as pruned from records`,
  };
}
