import { ConfigurationError } from '../../errors.js';
import { checkText } from '../check-values.js';
import { intOf, textOf, type Row } from '../database.js';
import { quoteSchema } from '../schema-name.js';
import { audit, endpointList, type Action, type OperationContext } from './context.js';
import type { NotificationFilter } from './filter.js';
import { iso } from './queries.js';

/** What a bulk resend began with. */
export interface RunSettings {
  perSecond: number;
  acceptDuplicateEffect: boolean;
  /** Whose notifications: several sources may share the tables. */
  source: string;
  actor: string;
  /** How many matched when it began. */
  matched: number;
}

/** A bulk resend that is not at its end: under way in some process, or interrupted. */
export interface BulkRun {
  run: string;
  filter: NotificationFilter;
  perSecond: number;
  acceptDuplicateEffect: boolean;
  actor: string;
  /** Notifications that matched when it began, at most 100,000 counted. */
  matched: number;
  resent: number;
  skipped: number;
  beganAt: Date;
}

/** Moments are texts in JSON. */
type StoredFilter = Omit<NotificationFilter, 'since' | 'until'> & { since?: string; until?: string };

const listLimit = 50;

/**
 * Runs whose end is not reached, newest first, at most 50.
 *
 * @param options.endpoints - only runs that were limited to these.
 */
export async function bulkRuns(
  context: OperationContext,
  { endpoints }: Pick<Action, 'endpoints'> = {},
): Promise<BulkRun[]> {
  const rows = await context.database.query(
    `select number::text as number, filter, settings, resent, skipped, ${iso('created_at')} as began_at
       from ${quoteSchema(context.schema)}.bulk_resend b
      where finished_at is null and ${isTheirs} order by b.number desc limit ${listLimit}`,
    [context.source, endpointList(endpoints)],
  );
  return rows.map(runOf);
}

/** @throws {@link ConfigurationError} if it is finished, or none of these endpoints' or this source's. */
export async function readRun(
  context: OperationContext,
  number: string,
  { endpoints }: Pick<Action, 'endpoints'>,
): Promise<BulkRun> {
  const [row] = isRunNumber(number)
    ? await context.database.query(
        `select number::text as number, filter, settings, resent, skipped, ${iso('created_at')} as began_at
           from ${quoteSchema(context.schema)}.bulk_resend b where finished_at is null and ${isTheirs} and number = $3::text::bigint`,
        [context.source, endpointList(endpoints), number],
      )
    : [];
  if (row === undefined) throw noSuchRun('resume', number);
  return runOf(row);
}

/**
 * Ends a run where it is: what it has not resent stays as it is. One that is under way stops after its batch.
 *
 * @throws {@link ConfigurationError} if there is no unfinished run of that number.
 */
export async function stopBulkRun(context: OperationContext, number: string, action: Action = {}): Promise<void> {
  await context.database.transaction(async (tx) => {
    const rows = isRunNumber(number)
      ? await tx.query(
          `update ${quoteSchema(context.schema)}.bulk_resend set finished_at = now()
            where finished_at is null and ${isTheirs} and number = $3::text::bigint returning resent`,
          [context.source, endpointList(action.endpoints), number],
        )
      : [];
    const [row] = rows;
    if (row === undefined) throw noSuchRun('run', number);
    const details = { run: number, resent: intOf(row, 'resent') };
    await audit(tx, context, { ...action, action: 'stop-resend-many', details });
  });
}

/** Of the source in `$1`, and limited to no other endpoints than those in `$2`. */
const isTheirs = `settings::jsonb->>'source' = $1 and ($2::text is null or filter::jsonb->'endpoints' <@ $2::text::jsonb)`;

function isRunNumber(number: string): boolean {
  checkText('run', number);
  return /^\d{1,18}$/.test(number);
}

function noSuchRun(option: string, number: string): ConfigurationError {
  return new ConfigurationError({
    option,
    problem: `names no bulk resend that is unfinished: ${number.slice(0, 20)}`,
  });
}

function runOf(row: Row): BulkRun {
  const { since, until, ...rest } = JSON.parse(textOf(row, 'filter')) as StoredFilter;
  const { perSecond, acceptDuplicateEffect, actor, matched } = JSON.parse(textOf(row, 'settings')) as RunSettings;
  return {
    run: textOf(row, 'number'),
    filter: {
      ...rest,
      ...(since !== undefined && { since: new Date(since) }),
      ...(until !== undefined && { until: new Date(until) }),
    },
    ...{ perSecond, acceptDuplicateEffect, actor, matched },
    resent: intOf(row, 'resent'),
    skipped: intOf(row, 'skipped'),
    beganAt: new Date(textOf(row, 'began_at')),
  };
}
