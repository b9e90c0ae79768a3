import { ConfigurationError } from '../../errors.js';
import { checkFlag, checkNumber } from '../check-values.js';
import { intOf, textOf, type Parameter } from '../database.js';
import { heldMs } from '../held-time.js';
import { quoteSchema } from '../schema-name.js';
import { readRun, type RunSettings } from './bulk-runs.js';
import { audit, knownSince, type Action, type OperationContext } from './context.js';
import { checkFilter, conditionsOf, type NotificationFilter } from './filter.js';

/** How a bulk resend goes. */
export interface ResendManyOptions extends Action {
  /** Only says what would be resent; changes nothing. @default false */
  dryRun?: boolean;
  /** As for a single resend. Without it, notifications that would need it are skipped and counted. @default false */
  acceptDuplicateEffect?: boolean;
  /** How many become due per second, 0.001 to 100,000, so that a merchant who has just come back is not run over. @default 50 */
  perSecond?: number;
  /** Go on with a run that was interrupted: its number, one of `bulkRuns`. The filter and settings are those it began with. */
  resume?: string;
  /** Called after each batch. */
  onProgress?: (progress: BulkProgress) => void;
  /** Stops after the batch under way; the run can be resumed. */
  signal?: AbortSignal;
}

/** Where a bulk resend stands. */
export interface BulkProgress {
  /** The run's number; null for a dry run. */
  run: string | null;
  /** Notifications that matched when it began, at most 100,000 counted. */
  matched: number;
  resent: number;
  /** Left alone: claimed by somebody, erased, or a second effect is possible and was not accepted. */
  skipped: number;
  isFinished: boolean;
}

interface Run {
  run: string;
  filter: NotificationFilter;
  perSecond: number;
  acceptDuplicateEffect: boolean;
  matched: number;
}

const batchSize = 500;
const countLimit = 100_000;

/**
 * Resends all settled notifications that match, oldest first, in batches.
 *
 * The state must be named, so that a forgotten filter does not resend what was delivered.
 *
 * @throws {@link ConfigurationError} without a settled state in the filter.
 */
export async function resendMany(
  context: OperationContext,
  filter: NotificationFilter,
  options: ResendManyOptions = {},
): Promise<BulkProgress> {
  const { perSecond = 50, acceptDuplicateEffect = false } = options;
  if (options.resume === undefined && (filter.state === undefined || filter.state === 'pending')) {
    throw new ConfigurationError({
      option: 'state',
      problem: 'must name a settled state',
      fix: "Usually state: 'dead'.",
    });
  }
  checkNumber('perSecond', perSecond, 0.001, 100_000);
  checkFlag('acceptDuplicateEffect', options.acceptDuplicateEffect);
  checkFlag('dryRun', options.dryRun);
  checkFilter(filter);
  if (options.dryRun === true) {
    return { run: null, matched: await countMatches(context, filter), resent: 0, skipped: 0, isFinished: true };
  }
  const run =
    options.resume === undefined
      ? await begin(context, { filter, perSecond, acceptDuplicateEffect, action: options })
      : await goOn(context, options.resume, options);
  const { matched } = run;
  for (;;) {
    const progress = { ...(await resendBatch(context, run)), run: run.run, matched };
    options.onProgress?.(progress);
    context.onDue();
    if (progress.isFinished || options.signal?.aborted === true) return progress;
  }
}

async function countMatches(context: OperationContext, filter: NotificationFilter): Promise<number> {
  const name = quoteSchema(context.schema);
  const parameters: Parameter[] = [context.source];
  const conditions = ['n.source = $1', ...conditionsOf(filter, parameters)];
  const [row] = await context.database.query(
    `select count(*)::int4 as count from (select 1 from ${name}.outbox o join ${name}.notification n on n.number = o.number
      where ${conditions.join(' and ')} limit ${countLimit}) c`,
    parameters,
  );
  return row === undefined ? 0 : intOf(row, 'count');
}

async function begin(
  context: OperationContext,
  { action, ...given }: Omit<Run, 'run' | 'matched'> & { action: Action },
): Promise<Run> {
  const { filter, perSecond, acceptDuplicateEffect } = given;
  const matched = await countMatches(context, filter);
  const { actor = 'operator' } = action;
  const settings: RunSettings = { perSecond, acceptDuplicateEffect, source: context.source, actor, matched };
  return context.database.transaction(async (tx) => {
    const name = quoteSchema(context.schema);
    // What dies after the beginning is not part of the run: else it could chase its own failures for ever.
    const [row] = await tx.query(
      `insert into ${name}.bulk_resend (filter, settings, last_number)
       values ($1, $2, (select coalesce(max(number), 0) from ${name}.outbox)) returning number::text as number`,
      [JSON.stringify(filter), JSON.stringify(settings)],
    );
    if (row === undefined) throw new Error('a bulk resend was not recorded');
    const run = textOf(row, 'number');
    const details = { run, filter, perSecond, acceptDuplicateEffect, matched };
    await audit(tx, context, { ...action, action: 'resend-many', details });
    return { ...given, run, matched };
  });
}

async function goOn(context: OperationContext, number: string, action: Action): Promise<Run> {
  const run = await readRun(context, number, action);
  const details = { run: run.run, resent: run.resent, matched: run.matched };
  await audit(context.database, context, { ...action, action: 'resume-resend-many', details });
  return run;
}

/** One batch and the run's new position, in one statement: a crash repeats or skips nothing. */
async function resendBatch(context: OperationContext, run: Run): Promise<Omit<BulkProgress, 'run' | 'matched'>> {
  const name = quoteSchema(context.schema);
  const parameters: Parameter[] = [context.source, run.run, run.perSecond, run.acceptDuplicateEffect];
  const conditions = ['n.source = $1', ...conditionsOf(run.filter, parameters)];
  const [row] = await context.database.query(
    `with run as (
       select * from ${name}.bulk_resend where number = $2::text::bigint and finished_at is null for update
     ), candidates as materialized (
       select o.number, e.key as endpoint_key, ${heldMs} as held_ms,
              n.body is not null and e.key is not null
                and ($4::boolean or not (o.state = 4 or coalesce(o.may_have_arrived and o.first_claimed_at < now() - interval '6 days', false))) as may_go
         from run r
         join ${name}.outbox o on o.number > r.position and o.number <= r.last_number
         join ${name}.notification n on n.number = o.number
         left join ${name}.endpoint e on e.source = n.source and e.id = n.endpoint
        where o.state <> 0 and ${conditions.join(' and ')}
        order by o.number limit ${batchSize} for update of o
     ), paced as materialized (
       -- The pace is kept by due times, which outlive this process; a batch goes on where the one before it ends.
       select c.number, c.endpoint_key, c.held_ms, greatest(now(), r.paced_until) + row_number() over (order by c.number) / $3::float8 * interval '1 second' as due_at
         from candidates c cross join run r where c.may_go
     ), resent as (
       update ${name}.outbox o
          set state = 0, round = o.round + 1, round_at = now(), attempts = 0, lost_claims = 0, waits = 0, first_attempt_at = null,
              first_claimed_at = ${knownSince}, held_ms_before = c.held_ms, settled_at = null, reason = null, claim_token = null, duplicate_accepted = $4::boolean,
              endpoint_key = c.endpoint_key, due_at = c.due_at
         from paced c
        where o.number = c.number
       returning o.number
     ), moved as (
       update ${name}.bulk_resend b
          set paced_until = coalesce((select max(due_at) from paced), b.paced_until),
              position = coalesce((select max(number) from candidates), b.last_number),
              resent = b.resent + (select count(*) from resent), skipped = b.skipped + (select count(*) from candidates where not may_go),
              finished_at = case when (select count(*) from candidates) < ${batchSize} then now() end
         from run r
        where b.number = r.number
       returning b.resent, b.skipped, b.finished_at
     )
     select resent, skipped, finished_at is not null as is_finished from moved
     union all
     -- Stopped, or brought to its end by another process.
     select resent, skipped, true from ${name}.bulk_resend where number = $2::text::bigint and not exists (select 1 from run)`,
    parameters,
  );
  if (row === undefined) throw new Error(`bulk resend ${run.run} has vanished`);
  return { resent: intOf(row, 'resent'), skipped: intOf(row, 'skipped'), isFinished: row['is_finished'] === true };
}
