const retryLater = Symbol.for('@bestnotify/receiver/retry-later');
const ignore = Symbol.for('@bestnotify/receiver/ignore');

/** Throw it to be asked again: 503 `fail` with `retry-after`. It does not count against the endpoint's health. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly [retryLater] = true;
  readonly afterMs: number;

  constructor(options: { afterMs?: number } = {}) {
    super('The handler asked to be called again later.');
    const afterMs = options.afterMs ?? 60_000;
    this.afterMs = Number.isFinite(afterMs) && afterMs > 0 ? afterMs : 60_000;
  }
}

/** Throw it when there is nothing to do for this event: answered `success` with reason `ignored`, and recorded as done. */
export class Ignore extends Error {
  override readonly name = 'Ignore';
  readonly [ignore] = true;

  constructor(reason = 'nothing to do') {
    super(reason);
  }
}

export function isRetryLater(value: unknown): value is RetryLater {
  return typeof value === 'object' && value !== null && retryLater in value;
}

export function isIgnore(value: unknown): value is Ignore {
  return typeof value === 'object' && value !== null && ignore in value;
}
