import type { Migration } from '../migrate.js';

/**
 * What alerts need: which dead rows somebody has been told of, what waits for its digest, and indexes to find both.
 *
 * `told_round` is written by the digest alone, never by a delivery; its index holds dead rows only.
 */
export const alerts: Migration = {
  version: 4,
  isBreaking: false,
  sql: (schema) => `
alter table ${schema}.outbox add column told_round integer not null default 0;
comment on column ${schema}.outbox.told_round is 'The round whose end somebody has been told of; a resend begins another one.';
create index outbox_untold on ${schema}.outbox (settled_at) where state = 2 and told_round <> round;
create index endpoint_health_parked on ${schema}.endpoint_health (endpoint_key) where parked_until is not null;
create index endpoint_disabled on ${schema}.endpoint (key) where held_because = 'gone';

create table ${schema}.alert_digest (
  source text not null,
  kind text not null,
  audience text not null,
  opens_at timestamptz not null default '-infinity',
  window_ms bigint not null default 0,
  pending text,
  primary key (source, kind, audience)
);
create index alert_digest_pending on ${schema}.alert_digest (source, opens_at) where pending is not null;
comment on table ${schema}.alert_digest is 'One row for each kind of alert and each audience: what it has not been told yet, as JSON, and when it may be told.';
comment on column ${schema}.alert_digest.audience is 'Empty for the operators, else the endpoint whose contact is meant.';

create table ${schema}.alert_told (
  source text not null,
  kind text not null,
  endpoint text not null,
  primary key (source, kind, endpoint)
);
comment on table ${schema}.alert_told is 'Endpoints whose being parked or disabled has been noted, until they are back.';
`,
};
