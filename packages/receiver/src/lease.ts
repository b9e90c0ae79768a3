import { startDeadline, type Deadline } from './deadline.js';
import type { ClaimRequest, Store } from './stores/store.js';
import { within } from './within.js';

/**
 * Keeps one claim alive while its handler works. A renewal that fails is tried again until the lease would be over by this machine's
 * steady clock; from then on another run may have started, so the claim counts as lost.
 *
 * The store counts a lease from when it decides, which is after it was asked: counted from the question, ours is never the longer.
 */
export class Lease {
  #deadline: Deadline;
  #endsAtMs: number;
  #isStopped = false;

  /** @param askedAtMs - when the claim was asked for, by `performance.now()`. */
  constructor(
    private readonly options: { store: Store; heartbeatMs: number; storeTimeoutMs: number },
    private readonly request: ClaimRequest,
    askedAtMs: number,
    private readonly onLost: () => void,
  ) {
    this.#endsAtMs = askedAtMs + request.leaseMs;
    this.#deadline = this.#beatAfter(options.heartbeatMs);
  }

  /** How long the claim is certain to be ours. */
  remainingMs(): number {
    return this.#endsAtMs - performance.now();
  }

  stop(): void {
    this.#isStopped = true;
    this.#deadline.stop();
  }

  #beatAfter(waitMs: number): Deadline {
    const soonMs = Math.max(0, Math.min(waitMs, Math.ceil(this.remainingMs())));
    return startDeadline(soonMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const askedAtMs = performance.now();
    const { store, heartbeatMs, storeTimeoutMs } = this.options;
    // Nobody waits for an answer beyond the end of the lease: another run may have started by then.
    const waitMs = Math.min(storeTimeoutMs, Math.ceil(this.remainingMs()));
    if (waitMs <= 0) {
      this.#lose();
      return;
    }
    try {
      const isOurs = await within(store.renew(this.request), waitMs, 'renew');
      if (this.#isStopped) return;
      if (!isOurs) {
        this.#lose();
        return;
      }
      this.#endsAtMs = askedAtMs + this.request.leaseMs;
      this.#deadline = this.#beatAfter(heartbeatMs);
    } catch {
      // Tried again soon, or found to be over.
      if (!this.#isStopped) this.#deadline = this.#beatAfter(Math.min(heartbeatMs, 500));
    }
  }

  #lose(): void {
    this.stop();
    this.onLost();
  }
}
