import type { Database } from './database.js';
import { SenderClosedError } from './errors.js';

/**
 * The database of one sender, which is closed once: a later call is refused. It would open the embedded database anew, and keep
 * it locked for a process that believes it closed.
 */
export function untilClosed(database: Database): Database {
  let closing: Promise<void> | undefined;
  const unlessClosed = async <T>(work: () => Promise<T>): Promise<T> => {
    if (closing !== undefined) throw new SenderClosedError();
    return work();
  };
  return {
    ...database,
    query: (text, parameters) => unlessClosed(() => database.query(text, parameters)),
    transaction: (work) => unlessClosed(() => database.transaction(work)),
    script: (text) => unlessClosed(() => database.script(text)),
    close: () => (closing ??= database.close()),
  };
}
