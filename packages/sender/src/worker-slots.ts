import type { ClaimedNotification } from './worker/claim-batch.js';

/** A claimed notification that waits for a slot or has one. */
export interface Held {
  notification: ClaimedNotification;
  /** When the claim ends, on the monotonic clock, in ms. */
  claimEndsAtMs: number;
}

/** How many rows a worker may hold. */
export interface SlotLimits {
  /** Most requests in flight. */
  concurrency: number;
  /** Most rows that wait for a slot. Their waiting counts inside the lease. */
  prefetch: number;
}

/** The rows a worker holds: those in flight, and a short queue behind them that refills slot by slot. */
export class WorkerSlots {
  readonly #limits: SlotLimits;
  readonly #start: (held: Held) => Promise<void>;
  readonly #waiting: Held[] = [];
  readonly #inFlight = new Set<Promise<void>>();
  readonly #heldByEndpoint = new Map<string, number>();
  #onFinish: () => void = () => undefined;

  /** @param start - carries one row out; must not reject. */
  constructor(limits: SlotLimits, start: (held: Held) => Promise<void>) {
    this.#limits = limits;
    this.#start = start;
  }

  /** Rows that may still be claimed. */
  get free(): number {
    return this.#limits.concurrency + this.#limits.prefetch - this.#inFlight.size - this.#waiting.length;
  }

  /** True if the queue is short enough that another claim is worth its round trip. */
  get isHungry(): boolean {
    return this.free > 0 && this.#waiting.length <= this.#limits.prefetch / 2;
  }

  get inFlight(): number {
    return this.#inFlight.size;
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
    while (this.#inFlight.size > 0) await Promise.race(this.#inFlight);
  }

  #fill(): void {
    while (this.#inFlight.size < this.#limits.concurrency) {
      const held = this.#waiting.shift();
      if (held === undefined) return;
      const running = this.#start(held).finally(() => {
        this.#inFlight.delete(running);
        change(this.#heldByEndpoint, held.notification.endpointKey, -1);
        this.#fill();
        this.#onFinish();
      });
      this.#inFlight.add(running);
    }
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
