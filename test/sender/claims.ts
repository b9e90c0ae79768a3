import { randomUUID } from 'node:crypto';
import { openDatabase } from '../../packages/sender/src/outbox/open-database.ts';
import {
  claimBatch,
  type ClaimedNotification,
  type ClaimRequest,
} from '../../packages/sender/src/worker/claim-batch.ts';
import { settle, type Settlement } from '../../packages/sender/src/worker/settle.ts';
import type { TestDatabase } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

/** An outbox, and the two steps of a worker that touch it, by hand. */
export interface ClaimingOutbox extends Outbox {
  /** One claim, as a worker makes it. Defaults: normal lane, 100 rows, a lease of 30 s, from the first endpoint on. */
  claim(request?: Partial<ClaimRequest>): Promise<ClaimedNotification[]>;
  /** The endpoint the next claim starts behind, after a claim like that. */
  cursorAfter(request?: Partial<ClaimRequest>): Promise<string>;
  /** @returns the numbers that were settled. */
  settle(...settlements: readonly Settlement[]): Promise<Set<string>>;
  /** Stores endpoints, and as many notifications for each as is said. */
  seed(counts: Readonly<Record<string, number>>, lane?: 'urgent' | 'normal'): Promise<void>;
}

export async function claimingOutbox(open: () => Promise<TestDatabase>): Promise<ClaimingOutbox> {
  const outbox = await freshOutbox(open);
  const database = openDatabase(outbox.database, {});
  const run = (request: Partial<ClaimRequest> = {}) =>
    claimBatch(database, {
      ...{ schema: outbox.schema, lane: 1, limit: 100, leaseMs: 30_000, token: randomUUID(), cursor: '0' },
      ...{ defaultMaxInFlight: 1000, inFlight: new Map(), hasBreaker: true },
      ...request,
    });
  let seeded = 0;
  return {
    ...outbox,
    claim: async (request) => (await run(request)).notifications,
    cursorAfter: async (request) => (await run(request)).cursor,
    settle: (...settlements) => settle(database, outbox.schema, settlements),
    async seed(counts, lane = 'normal') {
      for (const [id, count] of Object.entries(counts)) {
        if ((await outbox.sender.endpoints.get(id)) === undefined) await outbox.putEndpoint({ id });
        await outbox.sender.notifyMany(
          Array.from({ length: count }, () => ({ endpoint: id, ...paid, bizId: `PAY${seeded++}`, lane })),
        );
      }
    },
    async [Symbol.asyncDispose]() {
      await database.close();
      await outbox[Symbol.asyncDispose]();
    },
  };
}

/** How many of a claim's rows each endpoint got. */
export function countByEndpoint(claimed: readonly ClaimedNotification[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { to } of claimed) counts[to] = (counts[to] ?? 0) + 1;
  return counts;
}

/** A settlement of a claimed row; by default a charged failure that is due again in 60 s. */
export function settlementFor(claimed: ClaimedNotification, given: Partial<Settlement> = {}): Settlement {
  return {
    ...{ number: claimed.number, token: claimed.token, state: 0, delayMs: 60_000, reason: null, isCharged: true },
    ...{ heldMs: claimed.heldMs, mayHaveArrived: false, waits: 0, isReturn: false },
    attempt: {
      ...{ ordinal: claimed.attempts + 1, startedAtMs: 1_800_000_000_000, durationMs: 12, outcome: 'refused' },
      ...{ status: 500, because: 'status-500', hint: null, error: null, snippetHex: '6661696c' },
      url: 'https://merchant.example/notify',
    },
    ...given,
  };
}
