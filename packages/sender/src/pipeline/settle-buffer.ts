import type { Database } from '../outbox/database.js';
import { settle, type Settlement } from '../worker/settle.js';

/** A settlement on its way to the database. */
export interface PendingSettlement {
  settlement: Settlement;
  /** When the claim ends, on the monotonic clock, in ms. Afterwards writing it down is pointless. */
  claimEndsAtMs: number;
  /** Called once: whether the settlement was written. */
  done: (isSettled: boolean) => void;
}

/** What a settle buffer needs. */
export interface SettleBufferParts {
  database: Database;
  schema: string;
  /** Monotonic, in ms. */
  now: () => number;
  onError: (error: unknown) => void;
}

/** Collects settlements so that one statement writes many. */
export interface SettleBuffer {
  push(pending: PendingSettlement): void;
  /** Settlements not yet written. */
  readonly size: number;
  /** Resolves when everything pushed so far is written or given up. */
  drained(): Promise<void>;
}

const maxBatch = 250;
const flushAfterMs = 5;
/** While so many come within {@link flushAfterMs}, waiting for more pays: half of a small settle's cost is the statement itself. */
const streamSize = 16;
const longestGatherMs = 25;
const longestRetryMs = 2_000;

/**
 * One statement at a time is under way; what arrives meanwhile forms the next batch. While PostgreSQL is away a batch
 * is repeated until its claims end; its notifications are then due again, so a duplicate is possible and a loss is not.
 *
 * A repeat that finds a claim gone while it should still be live meets its own work: the first time was written, and
 * only the answer was lost. Nobody else may touch a live claim.
 */
export function createSettleBuffer(parts: SettleBufferParts): SettleBuffer {
  let waiting: PendingSettlement[] = [];
  let underWay = 0;
  let running: Promise<void> | undefined;
  const gather = async () => {
    for (let waitedMs = 0; waitedMs < longestGatherMs && waiting.length < maxBatch; waitedMs += flushAfterMs) {
      const before = waiting.length;
      await sleep(flushAfterMs);
      if (waiting.length - before < streamSize) return;
    }
  };
  const run = async () => {
    while (waiting.length > 0) {
      await gather();
      const batch = waiting.slice(0, maxBatch);
      waiting = waiting.slice(maxBatch);
      underWay = batch.length;
      await writeUntilClaimsEnd(parts, batch);
      underWay = 0;
    }
    running = undefined;
  };
  return {
    push(pending) {
      waiting.push(pending);
      running ??= run();
    },
    get size() {
      return waiting.length + underWay;
    },
    async drained() {
      while (running !== undefined) await running;
    },
  };
}

async function writeUntilClaimsEnd(
  parts: SettleBufferParts,
  batch: PendingSettlement[],
  mayBeWritten = false,
): Promise<void> {
  let retryMs = 50;
  let left = batch;
  let isRepeat = mayBeWritten;
  while (left.length > 0) {
    try {
      await write(parts, left, isRepeat);
      return;
    } catch (error) {
      parts.onError(error);
      if (isDataError(error)) {
        await writeApart(parts, left, isRepeat);
        return;
      }
      isRepeat = true; // whether the statement took effect is not known
    }
    await sleep(retryMs);
    retryMs = Math.min(retryMs * 2, longestRetryMs);
    const nowMs = parts.now();
    for (const { done } of left.filter((pending) => pending.claimEndsAtMs <= nowMs)) done(false);
    left = left.filter((pending) => pending.claimEndsAtMs > nowMs);
  }
}

async function write(
  { database, schema, now }: SettleBufferParts,
  batch: readonly PendingSettlement[],
  isRepeat: boolean,
): Promise<void> {
  const settled = await settle(
    database,
    schema,
    batch.map((pending) => pending.settlement),
  );
  const nowMs = now();
  for (const { settlement, claimEndsAtMs, done } of batch) {
    done(settled.has(settlement.number) || (isRepeat && nowMs < claimEndsAtMs));
  }
}

/** One row that the database refuses must not hold up the others, and its verdict matters more than its excerpt (R101). */
async function writeApart(parts: SettleBufferParts, batch: PendingSettlement[], isRepeat: boolean): Promise<void> {
  const [only, ...others] = batch;
  if (only !== undefined && others.length === 0) {
    const bare = withoutExcerpt(only);
    if (bare === undefined) only.done(false);
    else await writeUntilClaimsEnd(parts, [bare], isRepeat);
    return;
  }
  for (const pending of batch) await writeUntilClaimsEnd(parts, [pending], isRepeat);
}

/** The same verdict without the texts of others; undefined if there is nothing left to leave out. */
function withoutExcerpt(pending: PendingSettlement): PendingSettlement | undefined {
  const { attempt } = pending.settlement;
  if (attempt === null || (attempt.hint ?? attempt.error ?? attempt.snippetHex) === null) return undefined;
  const bare = { ...attempt, hint: null, error: null, snippetHex: null };
  return { ...pending, settlement: { ...pending.settlement, attempt: bare } };
}

/** SQLSTATE classes 22 (data exception) and 23 (integrity): repeating the same batch cannot help. */
function isDataError(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^2[23]/.test(code);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
