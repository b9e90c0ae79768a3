import { booleanOf, bytesOf, intOf, intOrNull, textOf, textOrNull, type Row } from '../database.js';
import { bodyOnTheWire } from '../../worker/compose-request.js';
import { UnknownNotificationError } from '../errors.js';
import { isClaimed } from '../live-claims.js';
import { quoteSchema } from '../schema-name.js';
import { stateOf, type NotificationState } from '../states.js';
import { endpointList, isAmong, uuidOf, type OperationContext } from './context.js';

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
  /** When it is due, or was when it was claimed. */
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
  /** As it is stored; null once erased. */
  body: Buffer | null;
  /** As a request made now would hold it: another than `body` where the endpoint's profile is `body-hmac`. Null if none can be made. */
  sentBody: Buffer | null;
  /** True if requests get headers, credentials or a client certificate of the endpoint's own, which are never read back. */
  hasOwnHeaders: boolean;
  attemptLog: AttemptSummary[];
}

/** One notification with its body and its attempts, oldest first. @throws {@link UnknownNotificationError} */
export async function show(
  context: OperationContext,
  id: string,
  { endpoints }: { endpoints?: readonly string[] } = {},
): Promise<NotificationDetails> {
  const name = quoteSchema(context.schema);
  const [row] = await context.database.query(
    `${selectSummaries(context.schema, {
      more: ', coalesce(o.corrected_url, n.url) as url, n.policy, n.max_attempts, n.content_type, n.body, e.profile, w.endpoint_key is not null as has_own_headers',
      from: (table) => `${table}.notification n join ${table}.outbox o on o.number = n.number
  left join ${table}.endpoint e on e.source = n.source and e.id = n.endpoint
  left join ${table}.endpoint_wire w on w.endpoint_key = e.key`,
    })} where n.id = $1::text::uuid and n.source = $2 and ${isAmong('n.endpoint', '$3')}`,
    [uuidOf(id), context.source, endpointList(endpoints)],
  );
  if (row === undefined) throw new UnknownNotificationError({ id });
  const attempts = await context.database.query(
    `select a.round, a.ordinal, ${iso('a.started_at')} as started_at, a.duration_ms, a.outcome, a.status, a.because, a.hint, a.error, a.snippet, a.url
       from ${name}.attempt a where a.notification_number = $1::text::bigint order by a.number`,
    [textOf(row, 'number')],
  );
  const summary = summaryOf(row);
  const body = row['body'] === null ? null : bytesOf(row, 'body');
  return {
    ...summary,
    url: textOrNull(row, 'url'),
    policy: textOrNull(row, 'policy'),
    maxAttempts: intOrNull(row, 'max_attempts'),
    contentType: textOf(row, 'content_type'),
    body,
    sentBody: body === null ? null : sentBodyOf({ ...summary, body }, textOrNull(row, 'profile')),
    hasOwnHeaders: booleanOf(row, 'has_own_headers'),
    attemptLog: attempts.map(attemptOf),
  };
}

/** What the worker would send; null where it would give up instead. */
function sentBodyOf(notification: NotificationSummary & { body: Buffer }, profile: string | null): Buffer | null {
  try {
    const parts = { ...notification, to: notification.endpoint };
    return bodyOnTheWire(parts, profile === 'body-hmac' ? 'body-hmac' : 'v1');
  } catch {
    return null; // data that the profile cannot hold
  }
}

/** The columns that {@link summaryOf} reads, from both tables or from what `from` makes of them. */
export function selectSummaries(
  schema: string,
  { more = '', from }: { more?: string; from?: (name: string) => string } = {},
): string {
  const name = quoteSchema(schema);
  return `
select n.number::text as number, n.id::text as id, n.source, n.endpoint, n.type, n.biz_id, n.subject, o.state::int4 as state, o.reason,
       ${isClaimed} as is_claimed, o.round, o.attempts, o.lost_claims,
       ${iso('o.due_at')} as due_at, ${iso('n.created_at')} as created_at, ${iso('o.settled_at')} as settled_at${more}
  from ${from?.(name) ?? `${name}.notification n join ${name}.outbox o on o.number = n.number`}`;
}

/** A moment as text that every driver leaves alone and every JavaScript engine reads. */
export function iso(column: string): string {
  return `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

export function summaryOf(row: Row): NotificationSummary {
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
