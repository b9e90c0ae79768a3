import { arrayLiteral, bytesOf, textOf, textOrNull, type Queryable, type Row } from '../outbox/database.js';
import { claimStatement, dueRow, type ClaimScope } from './claim-statement.js';
import { quoteSchema } from '../outbox/schema-name.js';

/** A notification that this worker may send until its claim ends. */
export interface ClaimedNotification {
  /** The row's number in the outbox; text, because it is a bigint. */
  number: string;
  /** `ntf_` + UUIDv7. */
  id: string;
  /** Fresh for each claim: what a settle must match. */
  token: string;
  endpointKey: string;
  round: number;
  /** Charged attempts of this round so far. */
  attempts: number;
  lostClaims: number;
  waits: number;
  source: string;
  to: string;
  type: string;
  bizId: string;
  subject: string | null;
  /** The notification's own URL, or the one an operator corrected it to; null means the endpoint's. */
  url: string | null;
  policy: string | null;
  maxAttempts: number | null;
  contentType: string;
  /** Null once it has been erased. */
  body: Buffer | null;
  /** Where its trace goes on from; null where nobody traces. As it was stored, unchecked. */
  traceparent: string | null;
  /** Since the first charged attempt of this round, in ms, without the time the endpoint was held; null before it. */
  ageMs: number | null;
  /** Since the round began, in ms; until the first charged attempt without the time the endpoint was held. */
  roundAgeMs: number;
  /** Since the first claim of any round, in ms. */
  knownForMs: number;
  /** How long the endpoint has been held since the round began, or since its first charged attempt, in ms. */
  heldMs: number;
  /** An earlier request may have reached the merchant. */
  mayHaveArrived: boolean;
  duplicateAccepted: boolean;
  /** Changes whenever the endpoint does; null once it has been removed. */
  endpointRevision: string | null;
  /** The one request that may find out whether a parked endpoint is back. Its failure is not charged. */
  isProbe: boolean;
  /** The endpoint has failures on its record that a good reply would clear. */
  isTroubled: boolean;
}

/** What one claim gives. */
export interface ClaimedBatch {
  notifications: ClaimedNotification[];
  /** The database's time at the claim, in ms since 1970: what signatures are dated by. */
  claimedAtMs: number;
  /** The endpoint the next claim starts behind. */
  cursor: string;
}

/** What a claim is asked for. */
export interface ClaimRequest {
  schema: string;
  /** 0 urgent, 1 normal. */
  lane: number;
  /** Most rows to claim. */
  limit: number;
  leaseMs: number;
  /** A fresh UUID. */
  token: string;
  /** The last endpoint served; rotation goes on behind it. */
  cursor: string;
  /** In-flight limit of endpoints that have none of their own. */
  defaultMaxInFlight: number;
  /** Requests in flight, or claimed and waiting, by endpoint key. */
  inFlight: ReadonlyMap<string, number>;
  /** Whether parked endpoints are left out, but for one probe each. */
  hasBreaker: boolean;
  /**
   * Whether bodies of JSON travel as text, half as long as bytea's hexadecimal digits. If one of them is no UTF-8 the whole claim
   * fails, see {@link isNoText}. @default true
   */
  readsJsonAsText?: boolean;
}

/** Leases due notifications of one lane: an equal share for each endpoint that has any, round robin. */
export function claimBatch(database: Queryable, request: ClaimRequest): Promise<ClaimedBatch> {
  return runClaim(database, request, 'rotation');
}

/** Whether anything of a lane is due, whoever may take it. */
export async function isLaneDue(database: Queryable, schema: string, lane: number): Promise<boolean> {
  const rows = await database.query(`select 1 as one ${dueRow(quoteSchema(schema), lane)}`, []);
  return rows.length > 0;
}

/** Runs a claim in either scope. */
export async function runClaim(database: Queryable, request: ClaimRequest, scope: ClaimScope): Promise<ClaimedBatch> {
  const { schema, lane, limit, leaseMs, token, cursor, defaultMaxInFlight, inFlight, hasBreaker } = request;
  const { readsJsonAsText = true } = request;
  const busy = [...inFlight];
  const rows = await database.query(claimStatement(schema, { lane, limit, scope }), [
    cursor,
    token,
    leaseMs,
    defaultMaxInFlight,
    arrayLiteral(busy.map(([key]) => key)),
    arrayLiteral(busy.map(([, count]) => count)),
    hasBreaker,
    readsJsonAsText,
  ]);
  const notifications = rows.map((row) => notificationOf(row, token));
  return {
    notifications,
    claimedAtMs: rows[0] === undefined ? 0 : Number(textOf(rows[0], 'claimed_at_ms')),
    cursor: lastServed(notifications, cursor),
  };
}

/** What the claim says about rows that are not at a plain first attempt. */
type History = Pick<
  ClaimedNotification,
  'round' | 'attempts' | 'lostClaims' | 'waits' | 'policy' | 'maxAttempts' | 'ageMs' | 'roundAgeMs' | 'knownForMs'
> &
  Pick<ClaimedNotification, 'heldMs' | 'mayHaveArrived' | 'duplicateAccepted' | 'isProbe' | 'isTroubled'>;

const firstAttempt: History = {
  round: 1,
  attempts: 0,
  lostClaims: 0,
  waits: 0,
  policy: null,
  maxAttempts: null,
  ageMs: null,
  roundAgeMs: 0,
  knownForMs: 0,
  heldMs: 0,
  mayHaveArrived: false,
  duplicateAccepted: false,
  isProbe: false,
  isTroubled: false,
};

function notificationOf(row: Row, token: string): ClaimedNotification {
  const text = textOrNull(row, 'history');
  const history = text === null ? firstAttempt : (JSON.parse(text) as History);
  const { ageMs, heldMs } = history;
  // One literal, not a spread: a worker makes thousands of these a second.
  return {
    number: textOf(row, 'number'),
    id: `ntf_${textOf(row, 'id')}`,
    token,
    endpointKey: textOf(row, 'endpoint_key'),
    round: history.round,
    attempts: history.attempts,
    lostClaims: history.lostClaims,
    waits: history.waits,
    source: textOf(row, 'source'),
    to: textOf(row, 'endpoint'),
    type: textOf(row, 'type'),
    bizId: textOf(row, 'biz_id'),
    subject: textOrNull(row, 'subject'),
    url: textOrNull(row, 'url'),
    policy: history.policy,
    maxAttempts: history.maxAttempts,
    contentType: textOf(row, 'content_type'),
    body: bodyOf(row),
    traceparent: textOrNull(row, 'traceparent'),
    ageMs: ageMs === null ? null : Math.max(0, ageMs - heldMs),
    roundAgeMs: Math.max(0, history.roundAgeMs - Math.max(0, heldMs)),
    knownForMs: history.knownForMs,
    heldMs,
    mayHaveArrived: history.mayHaveArrived,
    duplicateAccepted: history.duplicateAccepted,
    endpointRevision: textOrNull(row, 'endpoint_revision'),
    isProbe: history.isProbe,
    isTroubled: history.isTroubled,
  };
}

function bodyOf(row: Row): Buffer | null {
  if (row['text'] !== null) return bytesOf(row, 'text');
  return row['body'] === null ? null : bytesOf(row, 'body');
}

/** A body that calls itself JSON is not UTF-8. SQLSTATE character_not_in_repertoire and untranslatable_character. */
export function isNoText(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return code === '22021' || code === '22P05';
}

/** The endpoint that rotation reached: the last one ahead of the cursor, or, after a wrap, the last one behind it. */
function lastServed(notifications: readonly ClaimedNotification[], cursor: string): string {
  const start = BigInt(cursor);
  let last: { key: bigint; isBehind: boolean } | undefined;
  for (const { endpointKey } of notifications) {
    const key = BigInt(endpointKey);
    const isBehind = key <= start;
    if (last === undefined || (isBehind && !last.isBehind) || (isBehind === last.isBehind && key > last.key)) {
      last = { key, isBehind };
    }
  }
  return last === undefined ? cursor : String(last.key);
}
