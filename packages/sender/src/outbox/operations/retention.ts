import { checkWhole } from '../../options.js';
import { IllegalStateError } from '../errors.js';
import { intOf, textOrNull, type Queryable } from '../database.js';
import { quoteSchema } from '../schema-name.js';
import { audit, lockNotification, type Action, type OperationContext } from './context.js';

/** How long things are kept. What is pending is never removed. */
export interface Retention {
  /** Delivered, cancelled and closed notifications with their bodies and attempts, in days. @default 30 */
  settledDays?: number;
  /** Dead notifications, in days: they wait for a person. @default 180 */
  deadDays?: number;
  /** Attempts of settled notifications, in days, where that is less. @default 30 */
  attemptsDays?: number;
  /** Key rows, in days: as long as an event enqueued again is recognised. @default 400 */
  keysDays?: number;
}

export const retentionDefaults: Required<Retention> = {
  settledDays: 30,
  deadDays: 180,
  attemptsDays: 30,
  keysDays: 400,
};

/** How a pruning goes. */
export interface PruneOptions extends Retention {
  /** Rows per statement. @default 1_000 */
  batchSize?: number;
  /** Rest between two statements, in ms, so that deliveries are not held up. @default 50 */
  pauseMs?: number;
  /** Called after each statement. */
  onProgress?: (removed: Pruned) => void;
  /** Stops after the statement under way. */
  signal?: AbortSignal;
}

/** @throws ConfigurationError naming the first member that is no number of days. */
export function checkRetention(retention: Retention, prefix = ''): void {
  for (const member of ['settledDays', 'deadDays', 'attemptsDays', 'keysDays'] as const) {
    const days = retention[member];
    if (days !== undefined) checkWhole(`${prefix}${member}`, days, 0, 100_000);
  }
}

/** What was removed. */
export interface Pruned {
  notifications: number;
  attempts: number;
  keys: number;
}

/** Removes what is older than it has to be kept, in batches with pauses. Safe beside running workers, and to repeat. */
export async function prune(context: OperationContext, options: PruneOptions = {}): Promise<Pruned> {
  const retention = { ...retentionDefaults, ...options };
  const { batchSize = 1_000, pauseMs = 50 } = options;
  checkWhole('batchSize', batchSize, 1, 100_000);
  checkWhole('pauseMs', pauseMs, 0, 3_600_000);
  checkRetention(retention);
  const removed: Pruned = { notifications: 0, attempts: 0, keys: 0 };
  const steps: [keyof Pruned, (position: string) => Promise<Step>][] = [
    ['notifications', (position) => pruneNotifications(context, { ...retention, batchSize, position })],
    ['attempts', (position) => pruneAttempts(context, { ...retention, batchSize, position })],
    ['keys', () => pruneKeys(context, { ...retention, batchSize })],
  ];
  for (const [what, step] of steps) {
    let position: string | null = '0';
    while (position !== null && options.signal?.aborted !== true) {
      const { count, next }: Step = await step(position);
      removed[what] += count;
      position = next;
      options.onProgress?.({ ...removed });
      if (next !== null) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  // The embedded database has no autovacuum: without this its files only grow.
  if (context.database.isSingleSession && removed.notifications + removed.keys > 0) await vacuum(context);
  return removed;
}

interface Step {
  count: number;
  /** Where the next batch begins; null if this was the last. */
  next: string | null;
}

interface Cut extends Required<Retention> {
  batchSize: number;
  position: string;
}

async function pruneNotifications(context: OperationContext, cut: Cut): Promise<Step> {
  const name = quoteSchema(context.schema);
  return step(context.database, {
    text: `
with old as materialized (
  select o.number, o.state from ${name}.outbox o
   where o.number > $1::text::bigint
     and ((o.state in (1, 3, 4) and o.settled_at < now() - $2::int4 * interval '1 day')
       or (o.state = 2 and o.settled_at < now() - $3::int4 * interval '1 day'))
   order by o.number limit ${cut.batchSize} for update skip locked
), kept as (
  update ${name}.notification_key k set last_state = o.state
    from old o join ${name}.notification n on n.number = o.number
   where k.hash = sha256(convert_to(n.source || ' ' || n.endpoint || ' ' || n.type || ' ' || n.biz_id, 'UTF8'))
), attempts as (
  delete from ${name}.attempt where notification_number = any (array(select number from old))
), bodies as (
  delete from ${name}.notification where number = any (array(select number from old))
), gone as (
  delete from ${name}.outbox where number = any (array(select number from old)) returning 1
)
select (select count(*)::int4 from gone) as count, max(number)::text as last from old`,
    parameters: [cut.position, cut.settledDays, cut.deadDays],
    batchSize: cut.batchSize,
  });
}

async function pruneAttempts(context: OperationContext, cut: Cut): Promise<Step> {
  if (cut.attemptsDays >= cut.settledDays && cut.attemptsDays >= cut.deadDays) return { count: 0, next: null };
  const name = quoteSchema(context.schema);
  return step(context.database, {
    text: `
with old as materialized (
  select distinct o.number from ${name}.outbox o join ${name}.attempt a on a.notification_number = o.number
   where o.number > $1::text::bigint and o.state <> 0 and o.settled_at < now() - $2::int4 * interval '1 day'
   order by o.number limit ${cut.batchSize}
), gone as (
  delete from ${name}.attempt where notification_number = any (array(select number from old)) returning 1
)
select (select count(*)::int4 from gone) as count, max(number)::text as last from old`,
    parameters: [cut.position, cut.attemptsDays],
    batchSize: 1, // a batch that found any may have left some
  });
}

async function pruneKeys(context: OperationContext, cut: Omit<Cut, 'position'>): Promise<Step> {
  const name = quoteSchema(context.schema);
  return step(context.database, {
    text: `
with gone as (
  delete from ${name}.notification_key
   where hash = any (array(select hash from ${name}.notification_key
                            where created_at < now() - $1::int4 * interval '1 day' and last_state is not null limit ${cut.batchSize}))
  returning 1
)
select (select count(*)::int4 from gone) as count, '0' as last`,
    parameters: [cut.keysDays],
    batchSize: cut.batchSize,
  });
}

async function step(
  database: Queryable,
  { text, parameters, batchSize }: { text: string; parameters: (string | number)[]; batchSize: number },
): Promise<Step> {
  const [row] = await database.query(text, parameters);
  if (row === undefined) return { count: 0, next: null };
  const count = intOf(row, 'count');
  return { count, next: count >= batchSize ? textOrNull(row, 'last') : null };
}

async function vacuum({ database, schema }: OperationContext): Promise<void> {
  const name = quoteSchema(schema);
  for (const table of ['outbox', 'notification', 'attempt', 'notification_key'])
    await database.script(`vacuum ${name}.${table}`);
}

/**
 * Removes the body and the stored replies of one settled notification for good. What is left says that it existed.
 *
 * @throws {@link IllegalStateError} while it is pending: cancel it first.
 */
export async function erase(context: OperationContext, id: string, options: Action = {}): Promise<void> {
  const name = quoteSchema(context.schema);
  await context.database.transaction(async (tx) => {
    const row = await lockNotification(tx, context, id, options);
    if (row.state === 'pending') {
      throw new IllegalStateError({
        ...row,
        id,
        action: 'erase',
        allowed: 'Cancel it first, or wait until it is settled.',
      });
    }
    await tx.query(`update ${name}.notification set body = null where number = $1::text::bigint`, [row.number]);
    await tx.query(
      `update ${name}.attempt set snippet = null, hint = null, error = null where notification_number = $1::text::bigint`,
      [row.number],
    );
    await audit(tx, context, { ...options, action: 'erase', endpoint: row.endpoint, uuid: row.uuid });
  });
}
