import { arrayLiteral, textOf, type Parameter, type Queryable } from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';

/** One row of the attempt log. */
export interface AttemptRecord {
  /** Which charged attempt of its round, from 1; null if it was not charged. */
  ordinal: number | null;
  /** The database's time at which it began, in ms since 1970. */
  startedAtMs: number;
  durationMs: number;
  outcome: 'acknowledged' | 'refused' | 'no-answer' | 'not-sent' | 'aborted' | 'internal';
  status: number | null;
  because: string;
  hint: string | null;
  error: string | null;
  /** The first bytes of the reply, in hex; bytes, because a reply need not be text. */
  snippetHex: string | null;
  /** Origin and path only. */
  url: string;
}

/** What becomes of a claimed notification. It holds only if the claim is still this worker's. */
export interface Settlement {
  number: string;
  token: string;
  /** 0 pending again, 1 delivered, 2 dead. */
  state: 0 | 1 | 2;
  /** Until it is due again, in ms; only for state 0. */
  delayMs: number;
  /** Kept on the settled row; only for states 1 and 2. */
  reason: string | null;
  isCharged: boolean;
  /** How long the endpoint had been held since the round began; counts from the first charged attempt on, in ms. */
  heldMs: number;
  /** Whether the request may have reached the merchant. */
  mayHaveArrived: boolean;
  /** Settles in a row that charged nothing, this one included. */
  waits: number;
  /** A row that was never started is returned as it was. */
  isReturn: boolean;
  attempt: AttemptRecord | null;
}

/**
 * Writes down what became of claimed notifications and gives the claims up: one statement for the whole batch.
 *
 * @returns the numbers that were settled. One that is missing had lost its claim: nothing of it was written.
 */
export async function settle(
  database: Queryable,
  schema: string,
  settlements: readonly Settlement[],
): Promise<Set<string>> {
  const lost = await database.query(settleStatement(schema), settleParameters(settlements));
  const settled = new Set(settlements.map((settlement) => settlement.number));
  for (const row of lost) settled.delete(textOf(row, 'number'));
  return settled;
}

interface Column<Of> {
  name: string;
  type: string;
  of: (of: Of) => string | number | boolean | null;
}

/** What differs from row to row. */
const ownColumns: readonly Column<{ settlement: Settlement; verdict: number }>[] = [
  { name: 'number', type: 'bigint', of: ({ settlement }) => settlement.number },
  { name: 'verdict', type: 'integer', of: ({ verdict }) => verdict },
  { name: 'delay_ms', type: 'float8', of: ({ settlement }) => settlement.delayMs },
  { name: 'started_at_ms', type: 'float8', of: ({ settlement }) => settlement.attempt?.startedAtMs ?? null },
  { name: 'duration_ms', type: 'integer', of: ({ settlement }) => settlement.attempt?.durationMs ?? null },
];

/** What nearly all rows of a batch have in common: it travels once. */
const sharedColumns: readonly Column<Settlement>[] = [
  { name: 'token', type: 'uuid', of: ({ token }) => token },
  { name: 'state', type: 'smallint', of: ({ state }) => state },
  { name: 'reason', type: 'text', of: ({ reason }) => reason },
  { name: 'is_charged', type: 'boolean', of: ({ isCharged }) => isCharged },
  { name: 'held_ms', type: 'bigint', of: ({ heldMs }) => heldMs },
  { name: 'may_have_arrived', type: 'boolean', of: ({ mayHaveArrived }) => mayHaveArrived },
  { name: 'waits', type: 'integer', of: ({ waits }) => waits },
  { name: 'is_return', type: 'boolean', of: ({ isReturn }) => isReturn },
  { name: 'is_logged', type: 'boolean', of: ({ attempt }) => attempt !== null },
  { name: 'ordinal', type: 'integer', of: ({ attempt }) => attempt?.ordinal ?? null },
  { name: 'outcome', type: 'text', of: ({ attempt }) => attempt?.outcome ?? null },
  { name: 'status', type: 'integer', of: ({ attempt }) => attempt?.status ?? null },
  { name: 'because', type: 'text', of: ({ attempt }) => attempt?.because ?? null },
  { name: 'hint', type: 'text', of: ({ attempt }) => attempt?.hint ?? null },
  { name: 'error', type: 'text', of: ({ attempt }) => attempt?.error ?? null },
  { name: 'snippet', type: 'text', of: ({ attempt }) => attempt?.snippetHex ?? null },
  { name: 'url', type: 'text', of: ({ attempt }) => attempt?.url ?? null },
];

/**
 * The parameters of {@link settleStatement}: how many rows, an array for each of their columns; the same of the verdicts that they share.
 * PostgreSQL reads arrays several times faster than JSON, and what is said once need not be read for each row.
 */
export function settleParameters(settlements: readonly Settlement[]): Parameter[] {
  const verdicts: Settlement[] = [];
  const rows = settlements.map((settlement) => ({ settlement, verdict: placeOf(settlement, verdicts) }));
  return [
    rows.length,
    ...ownColumns.map(({ of }) => arrayLiteral(rows.map(of))),
    verdicts.length,
    ...sharedColumns.map(({ of }) => arrayLiteral(verdicts.map(of))),
  ];
}

/** How many verdicts are looked at for one that says the same. One that is sent twice costs less than a longer search for it. */
const recentVerdicts = 8;

/** Where in `verdicts`, from 1 on, the verdict stands that this settlement shares; it is added if it is new. */
function placeOf(settlement: Settlement, verdicts: Settlement[]): number {
  const oldest = Math.max(0, verdicts.length - recentVerdicts);
  for (let index = verdicts.length - 1; index >= oldest; index -= 1) {
    const verdict = verdicts[index];
    if (verdict !== undefined && sharedColumns.every(({ of }) => of(verdict) === of(settlement))) return index + 1;
  }
  return verdicts.push(settlement);
}

/**
 * $1 and on: {@link settleParameters}. Gives those whose claim had been lost: nearly always none.
 *
 * Matched on number and token alone: naming the state as well once sent the planner through the wrong index, and a
 * token is null outside a claim anyway.
 */
export function settleStatement(schema: string): string {
  const name = quoteSchema(schema);
  return `
with input as materialized (
  select * from ${columnsOf(ownColumns, 1)} as i(place, ${namesOf(ownColumns)})
), verdict as materialized (
  select v.*, decode(v.snippet, 'hex') as snippet_bytes
    from ${columnsOf(sharedColumns, 2 + ownColumns.length)} as v(place, ${namesOf(sharedColumns)})
), settled as (
  update ${name}.outbox o
     set state = v.state,
         claim_token = null,
         claimed_until = null,
         due_at = case when v.state = 0 then now() + i.delay_ms * interval '1 millisecond' else o.due_at end,
         attempts = o.attempts + v.is_charged::int,
         first_attempt_at = case when v.is_charged then coalesce(o.first_attempt_at, now()) else o.first_attempt_at end,
         held_ms_before = o.held_ms_before + case when v.is_charged and o.first_attempt_at is null then v.held_ms else 0 end,
         lost_claims = case when v.is_return then o.lost_claims else 0 end,
         waits = case when v.is_return then o.waits else v.waits end,
         may_have_arrived = o.may_have_arrived or v.may_have_arrived,
         settled_at = case when v.state = 0 then null else now() end,
         reason = v.reason
    from input i
    -- One verdict for each row, which a plain join would not tell the planner: it would expect next to nothing.
   cross join lateral (select * from verdict v where v.place = i.verdict limit 1) v
   where o.number = any (array(select number from input)) -- whatever the planner thinks of the join: by the key, once for all
     and o.number + 0 = i.number -- an expression, else each row is looked up by itself, and the whole array is sorted for it
     and o.claim_token = v.token
  returning o.number, o.round, i.verdict, i.started_at_ms, i.duration_ms
), logged as (
  insert into ${name}.attempt (notification_number, round, ordinal, started_at, duration_ms, outcome, status, because, hint, error, snippet, url)
  select s.number, s.round, v.ordinal, to_timestamp(s.started_at_ms / 1000), s.duration_ms, v.outcome, v.status, v.because, v.hint, v.error,
         v.snippet_bytes, v.url
    from settled s join verdict v on v.place = s.verdict
   where v.is_logged
)
select i.number::text as number from input i where not exists (select 1 from settled s where s.number = i.number)`;
}

/**
 * Rows made of arrays. The planner takes an array for ten elements, too few to join by hash, and a series for a thousand. It
 * must not see how long the series is: it would think that worth planning each batch anew, which is a fifth of a settle.
 */
function columnsOf(columns: readonly { type: string }[], first: number): string {
  const arrays = columns.map(({ type }, index) => `unnest($${first + 1 + index}::text::${type}[])`);
  return `rows from (generate_series(1, (select $${first}::int4)), ${arrays.join(', ')})`;
}

function namesOf(columns: readonly { name: string }[]): string {
  return columns.map(({ name }) => name).join(', ');
}
