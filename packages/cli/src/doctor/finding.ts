/** One line of the doctor's report. */
export interface Finding {
  check: 'database' | 'schema' | 'clock' | 'outbox' | 'secrets' | 'redis' | 'address';
  result: 'ok' | 'warn' | 'fail';
  message: string;
  /** What to do about it, a whole sentence. */
  next?: string;
}

/** Text of an error for a finding; the drivers put the useful part in different places. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message === '' ? (code ?? error.name) : error.message;
}
