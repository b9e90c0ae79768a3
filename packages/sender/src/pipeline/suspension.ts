import type { Hooks } from '../hooks.js';
import {
  firstSuspensionMs,
  longestSuspensionMs,
  outageDecisionMs,
  outageMinEndpoints,
  OutageWatch,
} from '../rules/outage.js';

/**
 * Rests a worker while nothing can be reached at all, which is our own outage and not the merchants'.
 *
 * While it lasts nothing is charged and nobody is parked; after each rest a few rows find out whether it is over.
 */
export class Suspension {
  readonly #watch = new OutageWatch();
  readonly #hooks: Hooks;
  readonly #now: () => number;
  #untilMs = -Infinity;
  #nextMs = firstSuspensionMs;
  /** A suspension has been, and nothing has been reached since. */
  #isSuspect = false;

  constructor(hooks: Hooks, now: () => number) {
    this.#hooks = hooks;
    this.#now = now;
  }

  /** Rows that may be claimed now, at most `limit`. */
  allowed(limit: number): number {
    if (this.#now() < this.#untilMs) return 0;
    return this.#isSuspect ? Math.min(limit, outageMinEndpoints) : limit;
  }

  /** An endpoint was reached, whatever it said. */
  noteReached(endpointKey: string): void {
    this.#watch.note(endpointKey, { atMs: this.#now(), isUnreachable: false });
    if (!this.#isSuspect) return;
    this.#isSuspect = false;
    this.#nextMs = firstSuspensionMs;
    this.#hooks.emit('resumed', {});
  }

  /**
   * An endpoint could not be reached: is the fault ours? Waits a moment for what the others say, if there are others.
   *
   * @param held - the endpoints that this worker is sending to right now.
   */
  async isOurs(endpointKey: string, held: Iterable<string>, signal: AbortSignal): Promise<boolean> {
    this.#watch.note(endpointKey, { atMs: this.#now(), isUnreachable: true });
    if (this.#isSuspect) {
      this.#suspend(1);
      return true;
    }
    if (this.#watch.sizeWith(held) >= outageMinEndpoints) await pause(outageDecisionMs, signal);
    const endpoints = this.#watch.endpointsOut(this.#now());
    if (endpoints > 0) this.#suspend(endpoints);
    return endpoints > 0;
  }

  #suspend(endpoints: number): void {
    const nowMs = this.#now();
    if (nowMs < this.#untilMs) return;
    const forMs = this.#nextMs;
    this.#untilMs = nowMs + forMs;
    this.#nextMs = Math.min(forMs * 2, longestSuspensionMs);
    if (!this.#isSuspect) this.#hooks.emit('suspended', { forMs, endpoints }); // one alert for the whole outage
    this.#isSuspect = true;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });
}
