import { startDeadline } from './deadline.js';
import { StoreTimeoutError } from './errors.js';

/**
 * Waits for one answer of the store, but not for ever: an ioredis client keeps commands while it reconnects, and a sender that gets
 * `fail` in time repeats, while one that hangs holds a connection.
 *
 * @param onLate - gets an answer that came after the wait was given up.
 */
export function within<T>(work: Promise<T>, timeoutMs: number, verb: string, onLate?: (answer: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    const deadline = startDeadline(timeoutMs, () => reject(new StoreTimeoutError({ verb, timeoutMs })));
    work.then(
      (answer) => {
        if (deadline.isRunning) {
          deadline.stop();
          resolve(answer);
        } else onLate?.(answer);
      },
      (error: unknown) => {
        deadline.stop();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
