import { ConfigurationError } from '../../errors.js';
import { booleanOf, bytesOf, intOf, intOrNull, textOf, textOrNull, type Parameter, type Row } from '../database.js';
import { UnknownNotificationError } from '../errors.js';
import { quoteSchema } from '../schema-name.js';
import { stateOf, type NotificationState } from '../states.js';
import { uuidOf, type OperationContext } from './context.js';
import { conditionsOf, type NotificationFilter } from './filter.js';

/** Which notifications to list, newest first. */
export interface ListFilter extends NotificationFilter {
  /** At most 500. @default 50 */
  limit?: number;
  /** `next` of the page before. */
  after?: string;
}

/** One line of a list. */
export interface NotificationSummary {
  id: string;
  source: string;
  endpoint: string;
  type: string;
  bizId: string;
  subject: string | null;
  state: NotificationState;
  /** Why it is settled: `handled`, `attempts-used-up`, `payload-conflict`, …; null while pending. */
  reason: string | null;
  /** True while a worker holds it. */
  isClaimed: boolean;
  round: number;
  /** Charged attempts of this round. */
  attempts: number;
  lostClaims: number;
  /** When it is due; while claimed, when the claim ends. */
  dueAt: Date;
  createdAt: Date;
  settledAt: Date | null;
}

/** One request that was made, or could not be made. */
export interface AttemptSummary {
  round: number;
  /** Which charged attempt of its round; null if it was not charged. */
  ordinal: number | null;
  startedAt: Date;
  durationMs: number;
  outcome: string;
  status: number | null;
  because: string;
  hint: string | null;
  error: string | null;
  /** The first bytes of the reply. */
  snippet: Buffer | null;
  /** Origin and path. */
  url: string;
}

/** All that is known of one notification. */
export interface NotificationDetails extends NotificationSummary {
  /** Its own URL or a corrected one; null means the endpoint's. */
  url: string | null;
  policy: string | null;
  maxAttempts: number | null;
  contentType: string;
  /** Null once erased. */
  body: Buffer | null;
  attemptLog: AttemptSummary[];
}

/** A page of notifications of this source, newest first. `next` is null on the last one. */
export async function list(
  context: OperationContext,
  filter: ListFilter = {},
): Promise<{ items: NotificationSummary[]; next: string | null }> {
  const { limit = 50 } = filter;
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 500)) {
    throw new ConfigurationError({ option: 'limit', problem: 'must be a whole number from 1 to 500' });
  }
  const parameters: Parameter[] = [context.source];
  const conditions = ['n.source = $1', ...conditionsOf(filter, parameters)];
  if (filter.after !== undefined) {
    if (!/^\d{1,19}$/.test(filter.after)) {
      throw new ConfigurationError({ option: 'after', problem: 'is not the next of an earlier page' });
    }
    parameters.push(filter.after);
    conditions.push(`n.number < $${parameters.length}::text::bigint`);
  }
  const rows = await context.database.query(
    `${selectSummaries(context.schema)} where ${conditions.join(' and ')} order by n.number desc limit ${limit + 1}`,
    parameters,
  );
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return {
    items: items.map(summaryOf),
    next: rows.length > limit && last !== undefined ? textOf(last, 'number') : null,
  };
}

/** One notification with its body and its attempts, oldest first. @throws {@link UnknownNotificationError} */
export async function show(context: OperationContext, id: string): Promise<NotificationDetails> {
  const name = quoteSchema(context.schema);
  const [row] = await context.database.query(
    `${selectSummaries(context.schema, `, coalesce(o.corrected_url, n.url) as url, n.policy, n.max_attempts, n.content_type, n.body`)}
      where n.id = $1::text::uuid and n.source = $2`,
    [uuidOf(id), context.source],
  );
  if (row === undefined) throw new UnknownNotificationError({ id });
  const attempts = await context.database.query(
    `select a.round, a.ordinal, ${iso('a.started_at')} as started_at, a.duration_ms, a.outcome, a.status, a.because, a.hint, a.error, a.snippet, a.url
       from ${name}.attempt a where a.notification_number = $1::text::bigint order by a.number`,
    [textOf(row, 'number')],
  );
  return {
    ...summaryOf(row),
    url: textOrNull(row, 'url'),
    policy: textOrNull(row, 'policy'),
    maxAttempts: intOrNull(row, 'max_attempts'),
    contentType: textOf(row, 'content_type'),
    body: row['body'] === null ? null : bytesOf(row, 'body'),
    attemptLog: attempts.map(attemptOf),
  };
}

/** How the outbox is doing. Counts stop at 10,000, so that asking costs the same on a bad day. */
export interface Stats {
  due: number;
  inFlight: number;
  dead: number;
  heldEndpoints: number;
  /** How long the notification that has been due longest has waited, in ms; 0 if none is due. */
  oldestDueMs: number;
}

export const statsCountLimit = 10_000;

/** Reads the outbox's state from its indexes, without counting tables. */
export async function stats(context: OperationContext): Promise<Stats> {
  const name = quoteSchema(context.schema);
  const count = (from: string) => `(select count(*)::int4 from (select 1 from ${from} limit ${statsCountLimit}) c)`;
  const [row] = await context.database.query(
    `select ${count(`${name}.outbox where state = 0 and lane + 0 in (0, 1) and due_at <= now()`)} as due,
            ${count(`${name}.outbox where state = 0 and lane + 0 in (0, 1) and due_at > now() and due_at < now() + interval '2 minutes' and claim_token is not null`)} as in_flight,
            ${count(`${name}.outbox where state = 2`)} as dead,
            ${count(`${name}.endpoint where source = $1 and held_at is not null`)} as held,
            coalesce((extract(epoch from now() - least(
              (select min(due_at) from ${name}.outbox where state = 0 and lane + 0 = 0),
              (select min(due_at) from ${name}.outbox where state = 0 and lane + 0 = 1))) * 1000), 0)::text as oldest_ms`,
    [context.source],
  );
  if (row === undefined) throw new Error('stats gave no row');
  return {
    due: intOf(row, 'due'),
    inFlight: intOf(row, 'in_flight'),
    dead: intOf(row, 'dead'),
    heldEndpoints: intOf(row, 'held'),
    oldestDueMs: Math.max(0, Math.round(Number(textOf(row, 'oldest_ms')))),
  };
}

function selectSummaries(schema: string, more = ''): string {
  const name = quoteSchema(schema);
  return `
select n.number::text as number, n.id::text as id, n.source, n.endpoint, n.type, n.biz_id, n.subject, o.state::int4 as state, o.reason,
       (o.claim_token is not null and o.due_at > now()) as is_claimed, o.round, o.attempts, o.lost_claims,
       ${iso('o.due_at')} as due_at, ${iso('n.created_at')} as created_at, ${iso('o.settled_at')} as settled_at${more}
  from ${name}.notification n join ${name}.outbox o on o.number = n.number`;
}

/** A moment as text that every driver leaves alone and every JavaScript engine reads. */
function iso(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

function summaryOf(row: Row): NotificationSummary {
  const settledAt = textOrNull(row, 'settled_at');
  return {
    id: `ntf_${textOf(row, 'id')}`,
    source: textOf(row, 'source'),
    endpoint: textOf(row, 'endpoint'),
    type: textOf(row, 'type'),
    bizId: textOf(row, 'biz_id'),
    subject: textOrNull(row, 'subject'),
    state: stateOf(intOf(row, 'state')),
    reason: textOrNull(row, 'reason'),
    isClaimed: booleanOf(row, 'is_claimed'),
    round: intOf(row, 'round'),
    attempts: intOf(row, 'attempts'),
    lostClaims: intOf(row, 'lost_claims'),
    dueAt: new Date(textOf(row, 'due_at')),
    createdAt: new Date(textOf(row, 'created_at')),
    settledAt: settledAt === null ? null : new Date(settledAt),
  };
}

function attemptOf(row: Row): AttemptSummary {
  return {
    round: intOf(row, 'round'),
    ordinal: intOrNull(row, 'ordinal'),
    startedAt: new Date(textOf(row, 'started_at')),
    durationMs: intOf(row, 'duration_ms'),
    outcome: textOf(row, 'outcome'),
    status: intOrNull(row, 'status'),
    because: textOf(row, 'because'),
    hint: textOrNull(row, 'hint'),
    error: textOrNull(row, 'error'),
    snippet: row['snippet'] === null ? null : bytesOf(row, 'snippet'),
    url: textOf(row, 'url'),
  };
}
