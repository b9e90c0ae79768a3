import { DatabaseTimeoutError } from './errors.js';

/**
 * Waits for a query, but not for ever: drivers wait on a half-open connection without limit.
 *
 * @throws {@link DatabaseTimeoutError} after `timeoutMs`; the query may still take effect.
 */
export async function withDeadline<T>(query: PromiseLike<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new DatabaseTimeoutError({ timeoutMs })), timeoutMs);
  });
  try {
    return await Promise.race([query, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
