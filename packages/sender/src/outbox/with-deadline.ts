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

/** The deadline of whatever step a longer piece of work is in. */
export interface StepDeadline {
  /** The next step begins: it has the whole time. */
  start(): void;
  /** The transaction has begun. @throws {@link DatabaseTimeoutError} if that came too late: nobody waits for its work any more. */
  begun(): void;
  /** Passes a step's own result on; if that step timed out, the whole work has. */
  orFail<T>(step: Promise<T>): Promise<T>;
}

/**
 * Waits for work of several steps, each with its deadline; the first, to begin a transaction, starts at once. A step that hangs fails the whole,
 * even if the work itself would go on waiting.
 *
 * @throws {@link DatabaseTimeoutError} after `timeoutMs` within one step.
 */
export async function withinDeadlines<T>(
  timeoutMs: number,
  work: (deadline: StepDeadline) => PromiseLike<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let late: DatabaseTimeoutError | undefined;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_resolve, reject) => (fail = reject));
  const start = (isBegun: boolean) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      late = new DatabaseTimeoutError({ timeoutMs, isBegun });
      fail(late);
    }, timeoutMs);
  };
  const deadline: StepDeadline = {
    start: () => start(true),
    begun() {
      clearTimeout(timer);
      if (late !== undefined) throw late;
    },
    orFail: (step) =>
      step.catch((error: unknown) => {
        if (error instanceof DatabaseTimeoutError) fail(error);
        throw error;
      }),
  };
  start(false);
  try {
    return await Promise.race([work(deadline), failed]);
  } finally {
    clearTimeout(timer);
  }
}
