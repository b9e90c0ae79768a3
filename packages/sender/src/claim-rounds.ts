import { randomUUID } from 'node:crypto';
import type { ResolvedWorkerOptions } from './options.js';
import { textOf, type Database } from './outbox/database.js';
import { quoteSchema } from './outbox/schema-name.js';
import { claimBatch, type ClaimedBatch } from './worker/claim-batch.js';
import { claimLimited, hasLimitedEndpoints } from './worker/claim-limited.js';

/** What claiming needs from the worker. */
export interface ClaimParts {
  database: Database;
  schema: string;
  options: ResolvedWorkerOptions;
  /** Monotonic, in ms. */
  now: () => number;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** One claim's rows, and when their claim ends by our clock. */
export interface TimedBatch extends ClaimedBatch {
  /** When the statement was sent, on the monotonic clock, in ms: our idea of the lease ends before the database's. */
  sentAtMs: number;
}

/** The lanes in the order they are asked, and the share of the free slots that each may take: normal keeps a tenth. */
const lanes = [
  { lane: 0, share: 0.9 },
  { lane: 1, share: 1 },
] as const;

const lookForLimitedEveryMs = 5_000;

/** Claims lane by lane, and remembers how far the rotation has come in each. */
export class ClaimRounds {
  readonly #parts: ClaimParts;
  readonly #cursors = new Map<number, string>();
  #hasLimited = false;
  #lookedForLimitedAtMs = -Infinity;

  constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  /** Claims at most `limit` rows, giving each batch to `take` as it comes. @returns how many were claimed. */
  async claim(
    limit: number,
    inFlight: ReadonlyMap<string, number>,
    take: (batch: TimedBatch) => Promise<void>,
  ): Promise<number> {
    const hasLimited = await this.#lookForLimited();
    let claimed = 0;
    for (const { lane, share } of lanes) {
      const most = Math.min(Math.ceil(limit * share), limit - claimed);
      for (const claim of hasLimited ? [claimLimited, claimBatch] : [claimBatch]) {
        if (most <= 0) continue;
        const batch = await this.#claim(claim, { lane, limit: most, inFlight });
        if (batch.notifications.length > 0) await take(batch);
        claimed += batch.notifications.length;
      }
    }
    return claimed;
  }

  async #claim(
    claim: typeof claimBatch | typeof claimLimited,
    { lane, limit, inFlight }: { lane: number; limit: number; inFlight: ReadonlyMap<string, number> },
  ): Promise<TimedBatch> {
    const { database, schema, options, now } = this.#parts;
    const cursor = await this.#cursor(lane);
    const sentAtMs = now();
    const batch = await claim(database, {
      schema,
      lane,
      limit,
      leaseMs: options.leaseMs,
      token: randomUUID(),
      cursor,
      defaultMaxInFlight: options.maxInFlightPerEndpoint,
      inFlight,
      hasBreaker: options.breaker,
    });
    this.#cursors.set(lane, batch.cursor);
    return { ...batch, sentAtMs };
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
