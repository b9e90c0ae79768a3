import type { Exchange } from './exchange.js';

/**
 * The exchanges under way, each ended when its time is up or its signal is aborted.
 *
 * All have the same time, so they are due in the order in which they began: one timer, for the first of them, serves all.
 * Likewise one listener serves a signal, however many requests a worker has made.
 */
export class RunningExchanges {
  readonly #timeoutMs: number;
  readonly #running = new Set<Exchange>(); // keeps the order of insertion
  readonly #signals = new WeakSet<AbortSignal>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  add(exchange: Exchange): void {
    const { signal } = exchange;
    this.#running.add(exchange);
    if (this.#timer === undefined) this.#wait(this.#timeoutMs);
    if (signal !== undefined && !this.#signals.has(signal)) {
      this.#signals.add(signal);
      signal.addEventListener('abort', () => this.#abort(signal), { once: true });
    }
  }

  remove(exchange: Exchange): void {
    this.#running.delete(exchange);
  }

  #wait(ms: number): void {
    // Unreferenced: what keeps a process alive is the connection that is waited for, not the limit of the wait.
    this.#timer = setTimeout(() => this.#endOverdue(), Math.max(1, Math.ceil(ms))).unref();
  }

  #endOverdue(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    for (const exchange of this.#running) {
      const leftMs = exchange.startedAtMs + this.#timeoutMs - nowMs;
      if (leftMs > 0) {
        this.#wait(leftMs);
        return;
      }
      exchange.timeOut(this.#timeoutMs);
    }
  }

  #abort(signal: AbortSignal): void {
    for (const exchange of this.#running) if (exchange.signal === signal) exchange.abort();
  }
}
