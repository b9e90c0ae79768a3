import type { Migration } from '../migrate.js';

/**
 * The end of a lease in a column that no index holds, and room on each page for a row's next version.
 *
 * Moving `due_at` made an entry in three indexes for every claim, which was a fifth of what the claim cost. Breaking,
 * because an older worker would take for due what a newer one holds; claims of older workers remain what they were.
 */
export const leases: Migration = {
  version: 6,
  isBreaking: true,
  sql: (schema) => `
alter table ${schema}.outbox add column claimed_until timestamptz;
alter table ${schema}.outbox set (fillfactor = 50);
comment on column ${schema}.outbox.claimed_until is 'The end of the lease. Null outside a claim, and where it is due_at itself: for an endpoint with a limit over all workers, whose claims are counted by that index.';
comment on column ${schema}.outbox.due_at is 'When it may be claimed. A claim that has run out is simply due again.';
`,
};
