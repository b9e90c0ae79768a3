import { arrayLiteral, textOf, type Queryable } from '../outbox/database.js';
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

/** The parameters of {@link settleStatement}: one array for each of {@link columns}. */
export function settleParameters(settlements: readonly Settlement[]): string[] {
  return columns.map(({ of }) => arrayLiteral(settlements.map(of)));
}

/** What the statement reads of a settlement, column by column: PostgreSQL reads arrays several times faster than JSON. */
const columns: readonly {
  name: string;
  type: string;
  of: (settlement: Settlement) => string | number | boolean | null;
}[] = [
  { name: 'number', type: 'bigint', of: ({ number }) => number },
  { name: 'token', type: 'uuid', of: ({ token }) => token },
  { name: 'state', type: 'smallint', of: ({ state }) => state },
  { name: 'delay_ms', type: 'float8', of: ({ delayMs }) => delayMs },
  { name: 'reason', type: 'text', of: ({ reason }) => reason },
  { name: 'is_charged', type: 'boolean', of: ({ isCharged }) => isCharged },
  { name: 'held_ms', type: 'bigint', of: ({ heldMs }) => heldMs },
  { name: 'may_have_arrived', type: 'boolean', of: ({ mayHaveArrived }) => mayHaveArrived },
  { name: 'waits', type: 'integer', of: ({ waits }) => waits },
  { name: 'is_return', type: 'boolean', of: ({ isReturn }) => isReturn },
  { name: 'is_logged', type: 'boolean', of: ({ attempt }) => attempt !== null },
  { name: 'ordinal', type: 'integer', of: ({ attempt }) => attempt?.ordinal ?? null },
  { name: 'started_at_ms', type: 'float8', of: ({ attempt }) => attempt?.startedAtMs ?? null },
  { name: 'duration_ms', type: 'integer', of: ({ attempt }) => attempt?.durationMs ?? null },
  { name: 'outcome', type: 'text', of: ({ attempt }) => attempt?.outcome ?? null },
  { name: 'status', type: 'integer', of: ({ attempt }) => attempt?.status ?? null },
  { name: 'because', type: 'text', of: ({ attempt }) => attempt?.because ?? null },
  { name: 'hint', type: 'text', of: ({ attempt }) => attempt?.hint ?? null },
  { name: 'error', type: 'text', of: ({ attempt }) => attempt?.error ?? null },
  { name: 'snippet', type: 'text', of: ({ attempt }) => attempt?.snippetHex ?? null },
  { name: 'url', type: 'text', of: ({ attempt }) => attempt?.url ?? null },
];

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
  select * from unnest(${columns.map(({ type }, index) => `$${index + 1}::text::${type}[]`).join(', ')})
    as i(${columns.map(({ name: column }) => column).join(', ')})
), settled as (
  update ${name}.outbox o
     set state = i.state,
         claim_token = null,
         due_at = case when i.state = 0 then now() + i.delay_ms * interval '1 millisecond' else o.due_at end,
         attempts = o.attempts + i.is_charged::int,
         first_attempt_at = case when i.is_charged then coalesce(o.first_attempt_at, now()) else o.first_attempt_at end,
         held_ms_before = o.held_ms_before + case when i.is_charged and o.first_attempt_at is null then i.held_ms else 0 end,
         lost_claims = case when i.is_return then o.lost_claims else 0 end,
         waits = case when i.is_return then o.waits else i.waits end,
         may_have_arrived = o.may_have_arrived or i.may_have_arrived,
         settled_at = case when i.state = 0 then null else now() end,
         reason = i.reason
    from input i
   where o.number = any (array(select number from input)) -- whatever the planner thinks of the join: by the key
     and o.number = i.number and o.claim_token = i.token
  returning o.number, o.round, i.ordinal, i.started_at_ms, i.duration_ms, i.outcome, i.status, i.because, i.hint, i.error, i.snippet, i.url, i.is_logged
), logged as (
  insert into ${name}.attempt (notification_number, round, ordinal, started_at, duration_ms, outcome, status, because, hint, error, snippet, url)
  select s.number, s.round, s.ordinal, to_timestamp(s.started_at_ms / 1000), s.duration_ms, s.outcome, s.status, s.because, s.hint, s.error,
         decode(s.snippet, 'hex'), s.url
    from settled s
   where s.is_logged
)
select i.number::text as number from input i where not exists (select 1 from settled s where s.number = i.number)`;
}
