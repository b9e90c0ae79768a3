import { randomUUID } from 'node:crypto';
import type { ResolvedWorkerOptions } from '../options.js';
import { textOf, type Database } from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';
import { claimBatch, isLaneDue, isNoText, type ClaimedBatch } from '../worker/claim-batch.js';
import { claimLimited, hasLimitedEndpoints } from '../worker/claim-limited.js';

/** What claiming needs from the worker. */
export interface ClaimParts {
  database: Database;
  schema: string;
  options: ResolvedWorkerOptions;
  /** Monotonic, in ms. */
  now: () => number;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Told of what fails beside a claim that does not. */
  onError: (during: string, error: unknown) => void;
}

/** One claim's rows, and when their claim ends by our clock. */
export interface TimedBatch extends ClaimedBatch {
  /** When the statement was sent, on the monotonic clock, in ms: our idea of the lease ends before the database's. */
  sentAtMs: number;
}

/** Urgent is asked first, but normal keeps a tenth of the free slots, or every tenth slot where fewer are free at a time. */
const urgent = 0;
const normal = 1;
const normalEvery = 10;

const lookForLimitedEveryMs = 5_000;

/**
 * How many rows to ask for, at most `limit`: one of few numbers, because each makes a statement of its own, which every
 * connection prepares and plans, and planning a claim takes longer than running it.
 */
function plannedLimit(limit: number): number {
  if (limit < 32) return limit;
  const step = 2 ** Math.floor(Math.log2(limit) - 2); // 32, 40, 48, 56, 64, 80 …
  return Math.floor(limit / step) * step;
}

/** Claims lane by lane, and remembers how far the rotation has come in each. */
export class ClaimRounds {
  readonly #parts: ClaimParts;
  readonly #cursors = new Map<number, string>();
  #hasLimited = false;
  #lookedForLimitedAtMs = -Infinity;
  #wasLimitedFirst = false;
  /** Until a body of JSON turns out to be no UTF-8. */
  #readsJsonAsText = true;
  /** What the last look at the urgent lane said; undefined before the first. */
  #isUrgentDue: boolean | undefined;
  /** Urgent rows claimed since normal last had room. */
  #urgentInARow = 0;

  constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  /** Claims at most `limit` rows, giving each batch to `take` as it comes. @returns how many were claimed. */
  async claim(
    limit: number,
    inFlight: ReadonlyMap<string, number>,
    take: (batch: TimedBatch) => Promise<void>,
  ): Promise<number> {
    const claims = await this.#claims();
    const from = async (lane: number, most: number) => {
      let claimed = 0;
      for (const claim of claims) {
        if (claimed >= most) break;
        const batch = await this.#claim(claim, { lane, limit: most - claimed, inFlight });
        if (batch.notifications.length > 0) await take(batch);
        claimed += batch.notifications.length;
      }
      return claimed;
    };
    this.#isUrgentDue ??= await isLaneDue(this.#parts.database, this.#parts.schema, urgent);
    if (!this.#isUrgentDue) {
      // A claim that finds nothing takes as long as a small one that does, so this one does not wait for it.
      const looking = isLaneDue(this.#parts.database, this.#parts.schema, urgent);
      looking.catch(() => undefined); // if the claim fails as well, that is told
      const claimed = await from(normal, limit);
      this.#isUrgentDue = await looking.catch((error: unknown) => {
        this.#parts.onError('claim', error);
        return true;
      });
      return this.#isUrgentDue && claimed < limit ? claimed + (await from(urgent, limit - claimed)) : claimed;
    }
    const isNormalsTurn = this.#urgentInARow >= normalEvery - 1;
    const kept = Math.max(Math.floor(limit / normalEvery), isNormalsTurn ? 1 : 0);
    let claimed = await from(urgent, limit - kept);
    this.#isUrgentDue = claimed > 0 || kept === limit;
    this.#urgentInARow = claimed < limit ? 0 : this.#urgentInARow + claimed;
    claimed += await from(normal, limit - claimed);
    if (claimed === 0 && kept === limit) claimed = await from(urgent, limit); // its turn, and nothing to take it
    return claimed;
  }

  /** Both kinds of endpoints share the room; which is asked first alternates, so that neither can take all of it for ever. */
  async #claims(): Promise<readonly (typeof claimBatch | typeof claimLimited)[]> {
    if (!(await this.#lookForLimited())) return [claimBatch];
    this.#wasLimitedFirst = !this.#wasLimitedFirst;
    return this.#wasLimitedFirst ? [claimLimited, claimBatch] : [claimBatch, claimLimited];
  }

  async #claim(
    claim: typeof claimBatch | typeof claimLimited,
    { lane, limit, inFlight }: { lane: number; limit: number; inFlight: ReadonlyMap<string, number> },
  ): Promise<TimedBatch> {
    const { database, schema, options, now } = this.#parts;
    const cursor = await this.#cursor(lane);
    const sentAtMs = now();
    try {
      const batch = await claim(database, {
        schema,
        lane,
        limit: plannedLimit(limit),
        leaseMs: options.leaseMs,
        token: randomUUID(),
        cursor,
        defaultMaxInFlight: options.maxInFlightPerEndpoint,
        inFlight,
        hasBreaker: options.breaker,
        readsJsonAsText: this.#readsJsonAsText,
      });
      this.#cursors.set(lane, batch.cursor);
      return { ...batch, sentAtMs };
    } catch (error) {
      if (!this.#readsJsonAsText || !isNoText(error)) throw error;
      this.#readsJsonAsText = false; // nothing was claimed; from now on bodies are read as the bytes they are
      return this.#claim(claim, { lane, limit, inFlight });
    }
  }

  /** The rotation begins at a random endpoint, so that short passes do not always favour the first ones. */
  async #cursor(lane: number): Promise<string> {
    const known = this.#cursors.get(lane);
    if (known !== undefined) return known;
    const { database, schema, random } = this.#parts;
    const [row] = await database.query(
      `select coalesce(max(key), 0)::text as last from ${quoteSchema(schema)}.endpoint`,
      [],
    );
    return String(Math.floor(random() * Number(row === undefined ? 0 : textOf(row, 'last'))));
  }

  async #lookForLimited(): Promise<boolean> {
    const { database, schema, now } = this.#parts;
    if (now() - this.#lookedForLimitedAtMs > lookForLimitedEveryMs) {
      this.#hasLimited = await hasLimitedEndpoints(database, schema);
      this.#lookedForLimitedAtMs = now();
    }
    return this.#hasLimited;
  }
}
