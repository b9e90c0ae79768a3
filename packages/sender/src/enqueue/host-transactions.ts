import { AsyncLocalStorage } from 'node:async_hooks';
import { ConfigurationError } from '../errors.js';

/** A drizzle database, a PGlite, or a postgres.js client. */
export type TransactionalClient<Tx> =
  | { transaction(work: (tx: Tx) => Promise<unknown>): PromiseLike<unknown> }
  | {
      // postgres.js overloads it, and TypeScript infers Tx from the last overload alone.
      begin: {
        (work: (tx: Tx) => Promise<unknown>): PromiseLike<unknown>;
        (options: string, work: (tx: Tx) => Promise<unknown>): PromiseLike<unknown>;
      };
    };

/** The transactions that one sender runs for its host. */
export interface HostTransactions {
  /** See `Sender.transaction`. */
  readonly run: <Tx, T>(client: TransactionalClient<Tx>, work: (tx: Tx) => Promise<T>) => Promise<T>;
  /** @throws {@link ConfigurationError} if the caller runs inside one that has not ended. */
  readonly refuseIfOpen: () => void;
}

/** @param onCommitted - called after each commit. */
export function createTransactions(onCommitted: () => void): HostTransactions {
  // What `work` starts and does not wait for keeps the context beyond the commit, and may write as it likes then.
  const context = new AsyncLocalStorage<{ isOpen: boolean }>();
  return {
    run: async <Tx, T>(client: TransactionalClient<Tx>, work: (tx: Tx) => Promise<T>) => {
      const begin = beginOf(client);
      const state = { isOpen: true };
      try {
        // Around `work` alone: the driver may call it from a context of its own.
        const result = await begin((tx) => context.run(state, () => work(tx)));
        onCommitted();
        return result as Awaited<T>; // each client gives back what `work` resolved to
      } finally {
        state.isOpen = false;
      }
    },
    refuseIfOpen: () => {
      if (context.getStore()?.isOpen !== true) return;
      throw new ConfigurationError({
        option: 'tx',
        problem:
          'is missing inside sender.transaction: the notification would be written outside of it, and stay if it rolls back',
        fix: 'Pass what the callback receives: notify(notification, { tx }). Nothing was written.',
      });
    },
  };
}

type Begin<Tx> = (work: (tx: Tx) => Promise<unknown>) => PromiseLike<unknown>;

function beginOf<Tx>(client: TransactionalClient<Tx>): Begin<Tx> {
  const given = client as Partial<Record<'begin' | 'transaction', Begin<Tx>>> | null | undefined;
  for (const name of ['begin', 'transaction'] as const) {
    if (typeof given?.[name] === 'function') return given[name].bind(client);
  }
  throw new ConfigurationError({
    option: 'client',
    problem: 'is not a drizzle database, a postgres.js client or a PGlite',
    fix: 'With pg, begin and commit yourself, pass the client as { tx }, and call sender.nudge() after the commit.',
  });
}
