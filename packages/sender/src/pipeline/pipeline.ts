import { setMaxListeners } from 'node:events';
import { attemptNotification, type AttemptParts, type AttemptResult } from './attempt-notification.js';
import { ClaimRounds, type ClaimParts, type TimedBatch } from './claim-rounds.js';
import { HealthReporter } from './health-reporter.js';
import type { Hooks } from '../hooks.js';
import { marginOf } from '../options.js';
import { EndpointCache, type EndpointSettings } from '../outbox/load-endpoints.js';
import type { Vault } from '../outbox/vault.js';
import { factsOf, isAlert, report } from './report.js';
import type { HealthFact } from '../rules/breaker.js';
import { createSettleBuffer, type SettleBuffer } from './settle-buffer.js';
import { endOf, endWithoutRequest, lostClaimsAlert, returnOf, waitOf } from './settlements.js';
import { Suspension } from './suspension.js';
import { WorkerSlots, type Held } from './worker-slots.js';
import type { ClaimedNotification } from '../worker/claim-batch.js';
import type { Outcome } from '../worker/outcome.js';
import type { Settlement } from '../worker/settle.js';

/** What a worker borrows from its sender. */
export interface WorkerParts extends Omit<ClaimParts, 'onError'>, Omit<AttemptParts, 'onError'> {
  hooks: Hooks;
  vault: Vault;
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

/**
 * Carries due notifications through their steps: claim, compose, deliver, judge, settle.
 *
 * One instance serves a resident worker for its life, or a single pass.
 */
export class Pipeline {
  readonly summary: PassSummary = { claimed: 0, delivered: 0, retrying: 0, dead: 0, returned: 0, lost: 0 };
  readonly slots: WorkerSlots;
  readonly #parts: WorkerParts & AttemptParts;
  readonly #rounds: ClaimRounds;
  readonly #endpoints: EndpointCache;
  readonly #settles: SettleBuffer;
  readonly #health: HealthReporter;
  readonly #suspension: Suspension;
  readonly #abort = new AbortController();
  readonly #undecided = new Set<Promise<void>>();
  #startsNoMore = false;

  constructor(parts: WorkerParts) {
    const onError = (during: string, error: unknown) => parts.hooks.emit('error', { during, error });
    setMaxListeners(0, this.#abort.signal); // one per request under way
    this.#parts = { ...parts, onError };
    this.#rounds = new ClaimRounds(this.#parts);
    this.#endpoints = new EndpointCache({ ...parts, onError }, parts.now);
    this.#health = new HealthReporter(parts);
    this.#suspension = new Suspension(parts.hooks, parts.now);
    this.slots = new WorkerSlots({ ...parts.options, now: parts.now }, (held) => this.#carryOut(held));
    this.#settles = createSettleBuffer({
      database: parts.database,
      schema: parts.schema,
      now: parts.now,
      onError: (error) => onError('settle', error),
    });
  }

  /** True when nothing is held and every verdict is written. */
  get isIdle(): boolean {
    return this.slots.inFlight === 0 && this.#undecided.size === 0 && this.#settles.size === 0;
  }

  /** Claims at most `limit` rows and starts them. @returns how many were claimed. */
  async claim(limit: number): Promise<number> {
    const { concurrency } = this.#parts.options;
    // Back-pressure: while verdicts wait for the database, nothing more is claimed.
    if (this.#settles.size > 4 * concurrency + 250) return 0;
    const allowed = this.#suspension.allowed(Math.min(limit, this.slots.free));
    if (allowed === 0) return 0;
    const claimed = await this.#rounds.claim(allowed, this.slots.heldByEndpoint, (batch) => this.#take(batch));
    this.summary.claimed += claimed;
    return claimed;
  }

  /** From now on nothing is started: neither what waits for a slot, nor what a claim under way still brings. */
  startNoMore(): void {
    this.#startsNoMore = true;
    this.returnWaiting();
  }

  /** Gives back what has not been started, uncharged and due as before. */
  returnWaiting(): void {
    for (const held of this.slots.takeWaiting()) this.#settle(held, returnOf(held.notification));
  }

  /** Stops every request under way; each row is due again now, uncharged. */
  abort(): void {
    this.#abort.abort();
  }

  /** Resolves when every row that was started is settled. */
  async drained(): Promise<void> {
    await this.slots.idle();
    await Promise.all(this.#undecided);
    await this.#settles.drained();
    await this.#health.drained();
  }

  async #take({ notifications, claimedAtMs, sentAtMs }: TimedBatch): Promise<void> {
    const claimEndsAtMs = sentAtMs + this.#parts.options.leaseMs;
    const toDatabaseMs = (atMs: number) => claimedAtMs + (atMs - sentAtMs);
    const hold = (endpoints?: ReadonlyMap<string, EndpointSettings>): Held[] =>
      notifications.map((notification) => {
        const endpoint = endpoints?.get(notification.endpointKey);
        return { notification, endpoint, claimEndsAtMs, toDatabaseMs, isSettled: false };
      });
    let endpoints: ReadonlyMap<string, EndpointSettings>;
    try {
      endpoints = await this.#endpoints.load(
        new Map(notifications.map(({ endpointKey, endpointRevision }) => [endpointKey, endpointRevision])),
      );
    } catch (error) {
      for (const held of hold()) this.#settle(held, returnOf(held.notification)); // else they would wait for their lease
      throw error;
    }
    if (this.#startsNoMore) for (const held of hold()) this.#settle(held, returnOf(held.notification));
    else this.slots.add(hold(endpoints));
  }

  /** Its steps are chained by hand: an async function costs a worker more than judging does. */
  #carryOut(held: Held): Promise<void> {
    const { notification, endpoint, toDatabaseMs } = held;
    const { options, hooks, now } = this.#parts;
    // One that waited too long could outlive its claim if it were started now.
    if (now() + options.requestTimeoutMs + marginOf(options) / 2 > held.claimEndsAtMs) {
      this.#settle(held, returnOf(notification));
      return carriedOut;
    }
    if (notification.lostClaims >= lostClaimsAlert) {
      hooks.emit('claimsLost', { ...factsOf(notification), lostClaims: notification.lostClaims });
    }
    const ending = endWithoutRequest(notification, endpoint);
    if (ending !== undefined || endpoint === undefined) {
      this.#settle(held, endOf(notification, ending ?? 'endpoint-removed'));
      return carriedOut;
    }
    // Sent elsewhere it finds out nothing about the endpoint, so it is no probe, and is charged like any other.
    const isElsewhereProbe = notification.isProbe && isElsewhere(notification, endpoint);
    const target = { notification: isElsewhereProbe ? { ...notification, isProbe: false } : notification, endpoint };
    try {
      return attemptNotification(this.#parts, target, toDatabaseMs, this.#abort.signal)
        .then((result) => this.#conclude(held, endpoint, result))
        .catch((error: unknown) => this.#recover(held, error));
    } catch (error) {
      this.#recover(held, error);
      return carriedOut;
    }
  }

  /** A bug of ours must not leave the row to its lease: that would look like a crash. */
  #recover(held: Held, error: unknown): void {
    this.#parts.onError(`sending ${held.notification.id}`, error);
    this.#settle(held, waitOf(held.notification));
  }

  /** Settles at once, unless the endpoint could not be reached: then what the others say decides whose fault it was. */
  #conclude(held: Held, endpoint: EndpointSettings, result: AttemptResult): void {
    const { endpointKey } = held.notification;
    if (!isUnreachable(result.outcome)) {
      if (result.outcome.kind === 'replied') this.#suspension.noteReached(endpointKey);
      this.#finish(held, endpoint, result);
      return;
    }
    const deciding = this.#suspension
      .isOurs(endpointKey, this.slots.heldByEndpoint.keys(), this.#abort.signal)
      .then((isOurs) => {
        if (isOurs) this.#waitOut(held, result);
        else this.#finish(held, endpoint, result);
      })
      .catch((error: unknown) => this.#recover(held, error))
      .finally(() => this.#undecided.delete(deciding));
    this.#undecided.add(deciding);
  }

  #waitOut(held: Held, { settlement }: AttemptResult): void {
    this.returnWaiting();
    const attempt = settlement.attempt && { ...settlement.attempt, ordinal: null };
    this.#settle(held, { ...waitOf(held.notification), attempt });
  }

  #finish(held: Held, endpoint: EndpointSettings, result: AttemptResult): void {
    this.#settle(held, result.settlement, isAlert(result.judgement, held.notification));
    this.#health.add(
      healthFactOf(held.notification, endpoint, result, this.#parts.options.breaker),
      held.notification.isTroubled,
    );
  }

  #settle(held: Held, settlement: Settlement, isRefusal = false): void {
    const { notification, claimEndsAtMs } = held;
    const { hooks } = this.#parts;
    if (held.isSettled) return; // what went wrong afterwards must not undo it
    held.isSettled = true;
    const done = (isSettled: boolean) => {
      this.#count(settlement, isSettled);
      if (isSettled) report(hooks, notification, { settlement, isRefusal });
      else hooks.emit('claimLost', factsOf(notification));
    };
    this.#settles.push({ settlement, claimEndsAtMs, done });
  }

  #count(settlement: Settlement, isSettled: boolean): void {
    const { summary } = this;
    if (!isSettled) summary.lost += 1;
    else if (settlement.isReturn) summary.returned += 1;
    else if (settlement.state === 1) summary.delivered += 1;
    else if (settlement.state === 2) summary.dead += 1;
    else summary.retrying += 1;
  }
}

const carriedOut = Promise.resolve();

/** No connection came about: a dead endpoint looks like that, and so does a host without a network. */
function isUnreachable(outcome: Outcome): boolean {
  return outcome.kind === 'not-sent' && (outcome.because === 'dns' || outcome.because === 'connect');
}

function healthFactOf(
  notification: ClaimedNotification,
  endpoint: EndpointSettings,
  { outcome, judgement }: AttemptResult,
  hasBreaker: boolean,
): HealthFact {
  const { endpointKey, number, isProbe } = notification;
  const restMs = judgement.endpointNotBeforeMs ?? 0;
  const failure = hasBreaker ? 'failure' : 'none';
  const reply = outcome.kind === 'replied' ? 'good' : 'none';
  const kind = judgement.countsForBreaker && !(restMs > 0 && !hasBreaker) ? failure : reply;
  const isStray = isElsewhere(notification, endpoint);
  return {
    endpointKey,
    number,
    kind: isStray ? 'none' : kind,
    isGone: judgement.kind === 'retry' && judgement.gone === true,
    isProbe,
    restMs,
    isStrayProbe: isStray && isProbe,
  };
}

/** A notification's own URL on another host says nothing about the endpoint. */
function isElsewhere({ url }: ClaimedNotification, endpoint: EndpointSettings): boolean {
  return url !== null && endpoint.url !== null && originOf(url) !== originOf(endpoint.url);
}

/** A URL enqueued in SQL is only checked when it is sent. */
function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined;
}
