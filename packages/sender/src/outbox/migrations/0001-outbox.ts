import type { Migration } from '../migrate.js';

/**
 * The first schema: endpoints and their keys, the key table, notifications, the outbox proper, attempts, audit.
 *
 * `outbox` is the only table that deliveries update. It is narrow, has two partial indexes over what is pending, and
 * no foreign key to endpoints: each insert would share-lock the endpoint's row.
 */
export const outbox: Migration = {
  version: 1,
  isBreaking: true,
  sql: (schema) => `
create table ${schema}.setting (
  name text primary key,
  value bytea not null
);
comment on table ${schema}.setting is 'Facts made once per installation, such as the key of the secret fingerprints.';
insert into ${schema}.setting (name, value)
values ('fingerprint-key', sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

create table ${schema}.endpoint (
  key bigint generated always as identity primary key,
  source text not null,
  id text not null,
  url text,
  ack text not null default 'success',
  profile text not null default 'v1',
  policy text,
  max_attempts integer,
  max_in_flight integer,
  max_in_flight_everywhere integer,
  max_per_second double precision,
  allow_http boolean not null default false,
  allow_private_network text[] not null default '{}',
  owner text,
  held_at timestamptz,
  held_because text,
  held_ms bigint not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (source, id)
);
create index endpoint_limited on ${schema}.endpoint (key) where max_in_flight_everywhere is not null or max_per_second is not null;
comment on column ${schema}.endpoint.url is 'Null where every notification brings its own.';
comment on column ${schema}.endpoint.held_ms is 'How long the endpoint has been held in all, in ms: subtracted from the age of its notifications.';

create table ${schema}.endpoint_secret (
  endpoint_key bigint not null references ${schema}.endpoint (key) on delete cascade,
  id text not null,
  secret text not null,
  fingerprint bytea not null,
  created_at timestamptz not null default now(),
  retires_at timestamptz,
  primary key (endpoint_key, id)
);
create index endpoint_secret_fingerprint on ${schema}.endpoint_secret (fingerprint);
comment on table ${schema}.endpoint_secret is 'Apart from the endpoint, so that a role may enqueue and yet read no secret.';

create table ${schema}.endpoint_health (
  endpoint_key bigint primary key references ${schema}.endpoint (key) on delete cascade,
  failures integer not null default 0,
  last_failed bigint,
  parks integer not null default 0,
  parked_until timestamptz,
  probe_until timestamptz,
  rest_until timestamptz,
  ramped_from timestamptz,
  gone integer not null default 0,
  tokens double precision not null default 0,
  tokens_at timestamptz not null default now()
) with (fillfactor = 50);
comment on table ${schema}.endpoint_health is 'What the workers share about an endpoint. Apart from the endpoint, whose row version tells workers that its settings changed.';
comment on column ${schema}.endpoint_health.failures is 'Failures in a row that count towards parking.';
comment on column ${schema}.endpoint_health.last_failed is 'The notification that failed last: a probe takes another one, so that one bad row cannot park a merchant for ever.';
comment on column ${schema}.endpoint_health.parked_until is 'When a probe may be sent; null while the endpoint is not parked.';
comment on column ${schema}.endpoint_health.probe_until is 'The lease of the one probe under way.';
comment on column ${schema}.endpoint_health.rest_until is 'The endpoint asked to be left alone until then: retry-after on 429 and 503.';
comment on column ${schema}.endpoint_health.ramped_from is 'When it came back; its in-flight limit grows from 1 from then on.';

create table ${schema}.endpoint_wire (
  endpoint_key bigint primary key references ${schema}.endpoint (key) on delete cascade,
  settings text not null
);
comment on table ${schema}.endpoint_wire is 'Static headers, credentials and TLS of an endpoint as JSON, sealed like its secrets.';

create sequence ${schema}.notification_number as bigint;

create table ${schema}.notification_key (
  hash bytea primary key,
  number bigint not null default nextval('${schema}.notification_number'),
  id uuid not null,
  digest bytea not null,
  last_state smallint,
  created_at timestamptz not null default now()
);
create index notification_key_created on ${schema}.notification_key using brin (created_at);
comment on table ${schema}.notification_key is 'One row per business event, kept longer than its notification: what makes enqueueing it again harmless.';
comment on column ${schema}.notification_key.hash is 'SHA-256 of source, endpoint, type and business id, joined by a space, which none of them can hold.';
comment on column ${schema}.notification_key.digest is 'SHA-256 of the body bytes.';
comment on column ${schema}.notification_key.last_state is 'Null while the notification is in the outbox; its last state once that is pruned.';

create table ${schema}.notification (
  number bigint primary key,
  id uuid not null unique,
  source text not null,
  endpoint text not null,
  type text not null,
  biz_id text not null,
  subject text,
  url text,
  policy text,
  max_attempts integer,
  content_type text not null,
  body bytea,
  created_at timestamptz not null default now()
);
create index notification_biz_id on ${schema}.notification (biz_id);
create index notification_subject on ${schema}.notification (subject) where subject is not null;
create index notification_endpoint on ${schema}.notification (endpoint, number);
comment on table ${schema}.notification is 'Written once and never updated; only erase nulls a body.';

create table ${schema}.outbox (
  number bigint primary key,
  endpoint_key bigint not null,
  lane smallint not null,
  state smallint not null default 0,
  due_at timestamptz not null default now(),
  claim_token uuid,
  round integer not null default 1,
  round_at timestamptz not null default now(),
  attempts integer not null default 0,
  lost_claims integer not null default 0,
  waits integer not null default 0,
  first_claimed_at timestamptz,
  first_attempt_at timestamptz,
  held_ms_before bigint not null default 0,
  may_have_arrived boolean not null default false,
  duplicate_accepted boolean not null default false,
  corrected_url text,
  settled_at timestamptz,
  reason text
) with (
  fillfactor = 80,
  autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000,
  autovacuum_analyze_scale_factor = 0.02, autovacuum_analyze_threshold = 1000,
  autovacuum_vacuum_cost_delay = 1
);
create index outbox_due on ${schema}.outbox ((lane + 0), due_at) where state = 0 and lane + 0 >= 0;
create index outbox_fair on ${schema}.outbox (lane, endpoint_key, due_at) where state = 0 and lane >= 0;
create index outbox_ended on ${schema}.outbox (state, number) where state in (2, 3, 4);
comment on index ${schema}.outbox_due is 'On an expression and with a predicate of its own, so that the planner never takes it for one endpoint''s rows, nor the other index for what is due, whatever its statistics say.';
comment on column ${schema}.outbox.state is '0 pending, 1 delivered, 2 dead, 3 cancelled, 4 closed.';
comment on column ${schema}.outbox.due_at is 'When it may be claimed. A claim moves it to the end of the lease, so an expired claim is simply due again.';
comment on column ${schema}.outbox.attempts is 'Requests of this round whose outcome is known; charged at settle.';
comment on column ${schema}.outbox.lost_claims is 'Claims in a row that expired unsettled: a worker died, or was too slow.';
comment on column ${schema}.outbox.waits is 'Settles in a row that charged nothing; paces them.';

create table ${schema}.attempt (
  notification_number bigint not null,
  number bigint generated always as identity,
  round integer not null,
  ordinal integer,
  started_at timestamptz not null,
  duration_ms integer not null,
  outcome text not null,
  status integer,
  because text not null,
  hint text,
  error text,
  snippet bytea,
  url text not null,
  primary key (notification_number, number)
);
comment on table ${schema}.attempt is 'Append-only: one row per HTTP request made, or not even made.';
comment on column ${schema}.attempt.ordinal is 'Which charged attempt of its round; null where the attempt was not charged.';

create table ${schema}.audit (
  number bigint generated always as identity primary key,
  at timestamptz not null default now(),
  actor text not null,
  action text not null,
  endpoint text,
  notification_id uuid,
  note text,
  details text
);
create table ${schema}.bulk_resend (
  number bigint generated always as identity primary key,
  filter text not null,
  settings text not null,
  position bigint not null default 0,
  last_number bigint not null,
  resent integer not null default 0,
  skipped integer not null default 0,
  paced_until timestamptz not null default now(),
  created_at timestamptz not null default now(),
  finished_at timestamptz
);
comment on table ${schema}.bulk_resend is 'A bulk resend moves on batch by batch, each in a transaction with its position: after a crash it goes on where it was.';

create index audit_notification on ${schema}.audit (notification_id) where notification_id is not null;
`,
};
