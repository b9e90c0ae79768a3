import { startDeadline } from '../deadline.js';
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
    private readonly opened: { notification: Notification },
    private readonly context: RunContext,
  ) {}

  /** Never rejects. A handler that ends at once has nothing to wait for. */
  outcome(timeoutMs: number): RunOutcome | Promise<RunOutcome> {
    let result: unknown;
    try {
      result = this.handler(this.opened.notification, this.context);
      if (!isThenable(result)) return done;
    } catch (error) {
      return endedBy(error);
    }
    return this.#wait(
      Promise.resolve(result).then(() => done, endedBy),
      timeoutMs,
    );
  }

  loseLease(): void {
    this.#giveUp?.(new LeaseLostError());
  }

  #wait(ended: Promise<Ended>, timeoutMs: number): Promise<RunOutcome> {
    return new Promise((resolve) => {
      const deadline = startDeadline(timeoutMs, () => this.#giveUp?.(new HandlerTimeoutError({ timeoutMs })));
      this.#giveUp = (error) => {
        deadline.stop();
        this.context.abort(error);
        resolve({ kind: 'given-up', error, ended });
      };
      void ended.then((outcome) => {
        deadline.stop();
        resolve(outcome);
      });
    });
  }
}

const done: Ended = { kind: 'done' };

function endedBy(error: unknown): Ended {
  if (isIgnore(error)) return { kind: 'ignored' };
  if (isRetryLater(error)) return { kind: 'later', afterMs: error.afterMs };
  return { kind: 'failed', error };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
