import { randomUUID } from 'node:crypto';
import {
  endOf,
  endWithoutRequest,
  factsOf,
  isAlert,
  lostClaimsAlert,
  policyOf,
  report,
  returnOf,
  settlementOf,
  waitOf,
} from './carry-out.js';
import type { Hooks } from './hooks.js';
import { marginOf, type ResolvedWorkerOptions } from './options.js';
import type { Database } from './outbox/database.js';
import { EndpointCache, type EndpointSettings } from './outbox/load-endpoints.js';
import { createSettleBuffer, type SettleBuffer } from './settle-buffer.js';
import { WorkerSlots, type Held } from './worker-slots.js';
import { claimBatch, type ClaimedNotification } from './worker/claim-batch.js';
import { composeRequest } from './worker/compose-request.js';
import type { Deliverer } from './worker/deliver.js';
import { describeAttempt } from './worker/describe-attempt.js';
import { judgeResponse, type AckFunction } from './worker/judge-response.js';
import type { Outcome } from './worker/outcome.js';
import type { Settlement } from './worker/settle.js';

/** What a worker borrows from its sender. */
export interface WorkerParts {
  database: Database;
  schema: string;
  options: ResolvedWorkerOptions;
  hooks: Hooks;
  deliverer: Deliverer;
  acks: Readonly<Record<string, AckFunction>>;
  defaultPolicy: string;
  /** Monotonic, in ms. */
  now: () => number;
  /** Uniform in [0, 1). Only jitter and the first place of the rotation use it. */
  random: () => number;
}

/** What a pass did. */
export interface PassSummary {
  /** Rows claimed, including those given back unstarted. */
  claimed: number;
  delivered: number;
  /** Failed and due again later. */
  retrying: number;
  dead: number;
  /** Given back without an attempt. */
  returned: number;
  /** Claims that were lost before their result could be written. */
  lost: number;
}

/** The two lanes, urgent first, and the share of slots that urgent may take. */
const lanes = [
  { lane: 0, share: 0.9 },
  { lane: 1, share: 1 },
] as const;

/**
 * Claims due notifications and carries each through its steps: compose, deliver, judge, settle.
 *
 * One instance serves a resident worker for its life, or a single pass.
 */
export class Pipeline {
  readonly summary: PassSummary = { claimed: 0, delivered: 0, retrying: 0, dead: 0, returned: 0, lost: 0 };
  readonly slots: WorkerSlots;
  readonly #parts: WorkerParts;
  readonly #settles: SettleBuffer;
  readonly #endpoints: EndpointCache;
  readonly #abort = new AbortController();
  readonly #cursors = new Map<number, string>();
  readonly #claims = new WeakMap<ClaimedNotification, Claim>();

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    this.#endpoints = new EndpointCache(parts.database, parts.schema, parts.now);
    this.slots = new WorkerSlots({ ...parts.options, now: parts.now }, (held) => this.#carryOut(held));
    this.#settles = createSettleBuffer({
      database: parts.database,
      schema: parts.schema,
      now: parts.now,
      onError: (error) => parts.hooks.emit('error', { during: 'settle', error }),
    });
  }

  /** Back-pressure: while verdicts wait for the database, nothing more is claimed. */
  get isBacklogged(): boolean {
    return this.#settles.size > 4 * this.#parts.options.concurrency + 250;
  }

  /** Claims at most `limit` rows and starts them. @returns how many were claimed. */
  async claim(limit: number): Promise<number> {
    let claimed = 0;
    for (const { lane, share } of lanes) {
      const free = Math.min(limit - claimed, this.slots.free);
      const most = lane === 0 ? Math.floor(free * share) || Math.min(free, 1) : free;
      if (most > 0) claimed += await this.#claimLane(lane, most);
    }
    this.summary.claimed += claimed;
    return claimed;
  }

  /** Gives back what has not been started, uncharged and due as before. */
  returnWaiting(): void {
    for (const held of this.slots.takeWaiting()) this.#return(held);
  }

  /** Stops every request under way; each row is due again now, uncharged. */
  abort(): void {
    this.#abort.abort();
  }

  /** Resolves when every row that was started is settled. */
  async drained(): Promise<void> {
    await this.slots.idle();
    await this.#settles.drained();
  }

  async #claimLane(lane: number, limit: number): Promise<number> {
    const { database, schema, options, now } = this.#parts;
    // Taken before the statement is sent: our idea of the lease must end before the database's.
    const sentAtMs = now();
    const batch = await claimBatch(database, {
      schema,
      lane,
      limit,
      leaseMs: options.leaseMs,
      token: randomUUID(),
      cursor: await this.#cursor(lane),
      defaultMaxInFlight: options.maxInFlightPerEndpoint,
      inFlight: this.slots.heldByEndpoint,
    });
    this.#cursors.set(lane, batch.cursor);
    if (batch.notifications.length === 0) return 0;
    const endpoints = await this.#endpoints.load(
      new Map(batch.notifications.map(({ endpointKey, endpointRevision }) => [endpointKey, endpointRevision])),
    );
    const rows = batch.notifications.map((notification) => {
      this.#claims.set(notification, {
        endpoint: endpoints.get(notification.endpointKey),
        databaseTimeMs: (atMs) => batch.claimedAtMs + (atMs - sentAtMs),
      });
      return { notification, claimEndsAtMs: sentAtMs + options.leaseMs };
    });
    this.slots.add(rows);
    return rows.length;
  }

  /** The rotation begins at a random endpoint, so that short passes do not always favour the first ones. */
  async #cursor(lane: number): Promise<string> {
    const known = this.#cursors.get(lane);
    if (known !== undefined) return known;
    const { database, schema, random } = this.#parts;
    const [row] = await database.query(`select coalesce(max(key), 0)::text as last from "${schema}".endpoint`, []);
    return String(Math.floor(random() * Number(row?.['last'] ?? 0)));
  }

  async #carryOut(held: Held): Promise<void> {
    const { notification } = held;
    const { options, hooks, now } = this.#parts;
    const claim = this.#claims.get(notification);
    if (claim === undefined) return;
    if (now() + options.requestTimeoutMs + marginOf(options) / 2 > held.claimEndsAtMs) {
      this.#return(held); // it waited too long: started now, it could outlive its claim
      return;
    }
    if (notification.lostClaims >= lostClaimsAlert) {
      hooks.emit('claimsLost', { ...factsOf(notification), lostClaims: notification.lostClaims });
    }
    const ending = endWithoutRequest(notification, claim.endpoint);
    if (ending !== undefined || claim.endpoint === undefined) {
      this.#settle(held, endOf(notification, ending ?? 'endpoint-removed'));
      return;
    }
    try {
      await this.#attempt(held, claim, claim.endpoint);
    } catch (error) {
      // A bug of ours must not leave the row to its lease: that would look like a crash.
      hooks.emit('error', { during: `sending ${notification.id}`, error });
      this.#settle(held, waitOf(notification));
    }
  }

  async #attempt(held: Held, claim: Claim, endpoint: EndpointSettings): Promise<void> {
    const { notification } = held;
    const { now, random, acks, defaultPolicy } = this.#parts;
    const startedAt = now();
    const outcome = await this.#deliver(notification, endpoint, Math.floor(claim.databaseTimeMs(startedAt) / 1000));
    const judgement = judgeResponse(outcome, {
      ack: endpoint.ack,
      acks,
      isOwnUrl: notification.url !== null,
      now: new Date(claim.databaseTimeMs(now())),
    });
    const facts = describeAttempt(outcome, judgement, { url: notification.url ?? endpoint.url ?? '' });
    const settlement = settlementOf(notification, {
      outcome,
      judgement,
      facts,
      startedAtMs: claim.databaseTimeMs(startedAt),
      ...policyOf(notification, endpoint, defaultPolicy),
      random: random(),
    });
    this.#settle(held, settlement, isAlert(judgement, notification));
  }

  async #deliver(
    notification: ClaimedNotification,
    endpoint: EndpointSettings,
    timestampSeconds: number,
  ): Promise<Outcome> {
    try {
      const request = composeRequest({
        notification: { ...notification, body: notification.body ?? Buffer.alloc(0) },
        endpoint,
        timestampSeconds,
        attemptNumber: notification.attempts + 1,
      });
      return await this.#parts.deliverer.deliver(request, { signal: this.#abort.signal });
    } catch (error) {
      // A key that cannot be read, say: ours to mend, and no reason to use up the merchant's attempts (R178, R194).
      this.#parts.hooks.emit('error', { during: `composing ${notification.id}`, error });
      return { kind: 'internal', error: error instanceof Error ? error.message : String(error), durationMs: 0 };
    }
  }

  #return(held: Held): void {
    this.#settle(held, returnOf(held.notification));
  }

  #settle(held: Held, settlement: Settlement, isRefusal = false): void {
    const { notification } = held;
    const { summary } = this;
    const { hooks } = this.#parts;
    this.#settles.push({
      settlement,
      claimEndsAtMs: held.claimEndsAtMs,
      done: (isSettled) => {
        if (!isSettled) {
          summary.lost += 1;
          hooks.emit('claimLost', factsOf(notification));
          return;
        }
        if (settlement.isReturn) summary.returned += 1;
        else if (settlement.state === 1) summary.delivered += 1;
        else if (settlement.state === 2) summary.dead += 1;
        else summary.retrying += 1;
        report(hooks, notification, { settlement, isRefusal });
      },
    });
  }
}

interface Claim {
  endpoint: EndpointSettings | undefined;
  /** The database's time at a moment of the monotonic clock, in ms since 1970. */
  databaseTimeMs: (atMs: number) => number;
}
