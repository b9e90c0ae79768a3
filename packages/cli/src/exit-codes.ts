/** What the process ends with. Scripts may rely on these numbers. */
export const exitCodes = {
  /** Everything went well, or there was nothing to do. */
  fine: 0,
  /** The command could not do what it was asked: wrong usage, an unknown id, a database that is away. */
  failed: 1,
  /** `process`: something was refused and is retried. `verify`: the request is not genuine. */
  refused: 2,
  /** `process`: something was given up. */
  dead: 3,
  /** Something of ours did not end in time and was cut off. */
  forced: 4,
} as const;

/** The convention of shells for a process that a signal ended. */
export function signalCode(signal: 'SIGINT' | 'SIGTERM'): number {
  return signal === 'SIGINT' ? 130 : 143;
}
