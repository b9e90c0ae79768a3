import type { EndpointSettings } from '../outbox/load-endpoints.js';
import type { ClaimedNotification } from '../worker/claim-batch.js';

/** A claimed notification that waits for a slot or has one. */
export interface Held {
  notification: ClaimedNotification;
  /** Undefined once it has been removed. */
  endpoint: EndpointSettings | undefined;
  /** The database's time at a moment of the monotonic clock, in ms since 1970; shared by all rows of one claim. */
  toDatabaseMs: (atMs: number) => number;
  /** Its verdict is on its way to the database, and will not be followed by another. */
  isSettled: boolean;
  /** When the claim ends, on the monotonic clock, in ms. */
  claimEndsAtMs: number;
}

/** How many rows a worker may hold. */
export interface SlotLimits {
  /** Most requests in flight. */
  concurrency: number;
  /** Most rows that wait for a slot. Their waiting counts inside the lease. */
  prefetch: number;
  /** Monotonic, in ms. */
  now: () => number;
}

/** How much work waits behind the slots: enough to hide a claim's round trip, too little to outlast a lease. */
const prefetchMs = 150;

/** The rows a worker holds: those in flight, and a short queue behind them that refills slot by slot. */
export class WorkerSlots {
  readonly #limits: SlotLimits;
  readonly #start: (held: Held) => Promise<void>;
  readonly #waiting: Held[] = [];
  #inFlight = 0;
  readonly #heldByEndpoint = new Map<string, number>();
  #onFinish: () => void = () => undefined;
  #onIdle: (() => void)[] = [];
  /** Mean time a row takes, in ms, with more weight on the last ones. The first guess is a slow one. */
  #meanMs = 100;

  /** @param start - carries one row out; must not reject. */
  constructor(limits: SlotLimits, start: (held: Held) => Promise<void>) {
    this.#limits = limits;
    this.#start = start;
  }

  /** Rows that may still be claimed. */
  get free(): number {
    return Math.max(0, this.#limits.concurrency + this.#prefetch - this.#inFlight - this.#waiting.length);
  }

  /** True if the queue is short enough that another claim is worth its round trip. */
  get isHungry(): boolean {
    return this.free > 0 && this.#waiting.length <= this.#prefetch / 2;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Rows held by endpoint key, waiting ones included: the in-flight limit counts both. */
  get heldByEndpoint(): ReadonlyMap<string, number> {
    return this.#heldByEndpoint;
  }

  /** Called whenever a row is finished. */
  set onFinish(listener: () => void) {
    this.#onFinish = listener;
  }

  add(rows: readonly Held[]): void {
    for (const held of rows) {
      change(this.#heldByEndpoint, held.notification.endpointKey, 1);
      this.#waiting.push(held);
    }
    this.#fill();
  }

  /** Takes back every row that has not been started. */
  takeWaiting(): Held[] {
    const rows = this.#waiting.splice(0);
    for (const { notification } of rows) change(this.#heldByEndpoint, notification.endpointKey, -1);
    return rows;
  }

  /** Resolves when nothing is in flight or waiting. */
  async idle(): Promise<void> {
    if (this.#inFlight > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
  }

  /** Little's law: what the slots finish in {@link prefetchMs} at the pace of the last replies. */
  get #prefetch(): number {
    const { concurrency, prefetch } = this.#limits;
    return Math.min(prefetch, Math.ceil((concurrency * prefetchMs) / Math.max(this.#meanMs, 1)));
  }

  #fill(): void {
    while (this.#inFlight < this.#limits.concurrency) {
      const held = this.#waiting.shift();
      if (held === undefined) return;
      const startedAtMs = this.#limits.now();
      this.#inFlight += 1;
      void this.#start(held).then(() => this.#finish(held, startedAtMs));
    }
  }

  #finish(held: Held, startedAtMs: number): void {
    this.#meanMs += (this.#limits.now() - startedAtMs - this.#meanMs) / 16;
    this.#inFlight -= 1;
    change(this.#heldByEndpoint, held.notification.endpointKey, -1);
    this.#fill();
    this.#onFinish();
    if (this.#inFlight === 0) for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
