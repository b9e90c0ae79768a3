import { textOf, type Queryable } from '../outbox/database.js';
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
  const input = settlements.map(({ attempt, ...rest }) => ({ ...rest, ...attempt, isLogged: attempt !== null }));
  const rows = await database.query(settleStatement(schema), [JSON.stringify(input)]);
  return new Set(rows.map((row) => textOf(row, 'number')));
}

/**
 * $1: settlements as a JSON array.
 *
 * Matched on number and token alone: naming the state as well once sent the planner through the wrong index, and a
 * token is null outside a claim anyway.
 */
export function settleStatement(schema: string): string {
  const name = quoteSchema(schema);
  return `
with input as materialized (
  select * from jsonb_to_recordset($1::text::jsonb) as i(
    number bigint, token uuid, state smallint, "delayMs" float8, reason text, "isCharged" boolean, "mayHaveArrived" boolean,
    waits integer, "isReturn" boolean, "isLogged" boolean, ordinal integer, "startedAtMs" float8, "durationMs" float8,
    outcome text, status integer, because text, hint text, error text, "snippetHex" text, url text)
), settled as (
  update ${name}.outbox o
     set state = i.state,
         claim_token = null,
         due_at = case when i.state = 0 then now() + i."delayMs" * interval '1 millisecond' else o.due_at end,
         attempts = o.attempts + i."isCharged"::int,
         first_attempt_at = case when i."isCharged" then coalesce(o.first_attempt_at, now()) else o.first_attempt_at end,
         held_ms_before = case when i."isCharged" and o.first_attempt_at is null
           then coalesce((select e.held_ms from ${name}.endpoint e where e.key = o.endpoint_key), 0) else o.held_ms_before end,
         lost_claims = case when i."isReturn" then o.lost_claims else 0 end,
         waits = case when i."isReturn" then o.waits else i.waits end,
         may_have_arrived = o.may_have_arrived or i."mayHaveArrived",
         settled_at = case when i.state = 0 then null else now() end,
         reason = i.reason
    from input i
   where o.number = any (array(select number from input)) -- whatever the planner thinks of the join: by the key
     and o.number = i.number and o.claim_token = i.token
  returning o.number, o.round
), logged as (
  insert into ${name}.attempt (notification_number, round, ordinal, started_at, duration_ms, outcome, status, because, hint, error, snippet, url)
  select s.number, s.round, i.ordinal, to_timestamp(i."startedAtMs" / 1000), i."durationMs"::int, i.outcome, i.status, i.because, i.hint, i.error,
         decode(i."snippetHex", 'hex'), i.url
    from settled s join input i on i.number = s.number
   where i."isLogged"
)
select number::text as number from settled`;
}
