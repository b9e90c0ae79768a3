import type { Migration } from '../migrate.js';

/**
 * Where the trace of a notification goes on, and which endpoints are told.
 *
 * A default instead of a parameter of `enqueue()`: a function of another signature would have to replace it and lose its
 * grants, and earlier releases, which do not name the column, are traced as well. Whatever is no `traceparent` is not kept.
 */
export const traces: Migration = {
  version: 5,
  isBreaking: false,
  sql: (schema) => `
alter table ${schema}.notification add column traceparent text;
alter table ${schema}.notification alter column traceparent
  set default substring(current_setting('bestnotify.traceparent', true) from '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$');
alter table ${schema}.endpoint add column traceparent boolean not null default false;
comment on column ${schema}.notification.traceparent is 'W3C Trace Context. Platforms in other languages: select set_config(''bestnotify.traceparent'', …, true) in the transaction that enqueues.';
comment on column ${schema}.endpoint.traceparent is 'Whether requests carry the header traceparent.';
`,
};
