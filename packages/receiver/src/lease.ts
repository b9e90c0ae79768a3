import { within } from './deadline.js';
import type { ClaimRequest, Store } from './stores/store.js';

/**
 * Keeps one claim alive while its handler works. A renewal that fails is tried again until the lease would be over by this machine's
 * steady clock; from then on another run may have started, so the claim counts as lost.
 */
export class Lease {
  #timer: NodeJS.Timeout | undefined;
  #endsAtMs: number;
  #isStopped = false;

  constructor(
    private readonly store: Store,
    private readonly request: ClaimRequest,
    private readonly settings: { heartbeatMs: number; storeTimeoutMs: number },
    private readonly onLost: () => void,
  ) {
    // Counted from before the claim was asked for would be exact; the store's answer took at most storeTimeoutMs.
    this.#endsAtMs = performance.now() + request.leaseMs;
    this.#schedule(settings.heartbeatMs);
  }

  /** How long the claim is certain to be ours. */
  remainingMs(): number {
    return this.#endsAtMs - performance.now();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(waitMs: number): void {
    this.#timer = setTimeout(() => void this.#beat(), Math.max(0, Math.min(waitMs, this.remainingMs())));
  }

  async #beat(): Promise<void> {
    const askedAtMs = performance.now();
    try {
      const { storeTimeoutMs } = this.settings;
      const isOurs = await within(this.store.renew(this.request), storeTimeoutMs, 'renew');
      if (this.#isStopped) return;
      if (!isOurs) {
        this.#lose();
        return;
      }
      this.#endsAtMs = askedAtMs + this.request.leaseMs;
      this.#schedule(this.settings.heartbeatMs);
    } catch {
      if (this.#isStopped) return;
      if (this.remainingMs() <= 0) this.#lose();
      else this.#schedule(Math.min(this.settings.heartbeatMs, 500));
    }
  }

  #lose(): void {
    this.stop();
    this.onLost();
  }
}
