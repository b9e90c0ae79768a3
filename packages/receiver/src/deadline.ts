import { StoreTimeoutError } from './errors.js';

/**
 * Waits for one answer of the store, but not for ever: an ioredis client keeps commands while it reconnects, and a sender that gets
 * `fail` in time repeats, while one that hangs holds a connection.
 *
 * @param onLate - gets an answer that came after the wait was given up.
 */
export function within<T>(work: Promise<T>, timeoutMs: number, verb: string, onLate?: (answer: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      reject(new StoreTimeoutError({ verb, timeoutMs }));
    }, timeoutMs);
    work.then(
      (answer) => {
        clearTimeout(timer);
        if (isLate) onLate?.(answer);
        else resolve(answer);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
