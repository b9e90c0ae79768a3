import { HandlerTimeoutError, LeaseLostError } from '../errors.js';
import type { Handler, Notification } from '../notification.js';
import { isIgnore, isRetryLater } from '../outcomes.js';
import type { RunContext } from '../run-context.js';

/** How a handler ended, once it did. */
export type Ended =
  { kind: 'done' } | { kind: 'ignored' } | { kind: 'failed'; error: unknown } | { kind: 'later'; afterMs: number };

/** How the wait for it ended. `given-up` means it may still be running; `ended` tells what becomes of it. */
export type RunOutcome = Ended | { kind: 'given-up'; error: Error; ended: Promise<Ended> };

/** One run of the handler: gives it its deadline, and lets the lease end the wait as well. */
export class HandlerRun {
  #giveUp: ((error: Error) => void) | undefined;

  constructor(
    private readonly handler: Handler,
    private readonly notification: Notification,
    private readonly context: RunContext,
  ) {}

  /** Never rejects. */
  outcome(timeoutMs: number): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const ended = this.#call();
      const timer = setTimeout(() => this.#giveUp?.(new HandlerTimeoutError({ timeoutMs })), timeoutMs);
      this.#giveUp = (error) => {
        clearTimeout(timer);
        this.context.abort(error);
        resolve({ kind: 'given-up', error, ended });
      };
      void ended.then((outcome) => {
        clearTimeout(timer);
        resolve(outcome);
      });
    });
  }

  loseLease(): void {
    this.#giveUp?.(new LeaseLostError());
  }

  async #call(): Promise<Ended> {
    try {
      await this.handler(this.notification, this.context);
      return { kind: 'done' };
    } catch (error) {
      if (isIgnore(error)) return { kind: 'ignored' };
      if (isRetryLater(error)) return { kind: 'later', afterMs: error.afterMs };
      return { kind: 'failed', error };
    }
  }
}
