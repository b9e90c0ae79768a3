import type { Migration } from '../migrate.js';

/**
 * Indexes for people who look: lists that stay fast at millions of rows, and attempts by time.
 *
 * None is on what deliveries update most: `notification` is written once, `attempt` gets a BRIN index of a few pages, and
 * those on `outbox` hold the few rows that are dead or were acknowledged for a reason worth a look.
 */
export const consoleIndexes: Migration = {
  version: 3,
  isBreaking: false,
  sql: (schema) => `
drop index ${schema}.notification_biz_id;
create index notification_biz_id on ${schema}.notification (biz_id, (number + 0));
drop index ${schema}.notification_subject;
create index notification_subject on ${schema}.notification (subject, (number + 0)) where subject is not null;
drop index ${schema}.notification_endpoint;
create index notification_endpoint on ${schema}.notification (endpoint, (number + 0));
create index notification_type on ${schema}.notification (type, (number + 0));
comment on index ${schema}.notification_type is 'On an expression, as the others for lists are: else the planner may walk the primary key backwards, hoping to meet what is asked for soon.';
create index outbox_listed on ${schema}.outbox (state, (number + 0)) where state in (2, 3, 4);
create index outbox_reason on ${schema}.outbox (reason, (number + 0)) where state <> 0 and reason not in ('handled', 'acknowledged');
create index outbox_dead_at on ${schema}.outbox (settled_at) where state = 2;
create index attempt_started on ${schema}.attempt using brin (started_at) with (pages_per_range = 32, autosummarize = on);
create index audit_endpoint on ${schema}.audit (endpoint, number) where endpoint is not null;
`,
};
