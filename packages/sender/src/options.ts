import { ConfigurationError } from './errors.js';
import { checkFlag } from './outbox/check-values.js';

/** How a worker paces itself. Every field is optional; see {@link workerDefaults}. */
export interface WorkerOptions {
  /** Most requests in flight in this worker. @default 64 */
  concurrency?: number;
  /** Most rows claimed ahead of a free slot. How many really are follows the pace of the replies, about 150 ms of work; their waiting counts inside the lease. @default 768 */
  prefetch?: number;
  /** How long a claim lasts before another worker may take it, in ms. Must exceed `requestTimeoutMs` and the time to settle. @default 30_000 */
  leaseMs?: number;
  /** Longest wait for one whole exchange: connect, headers and body, in ms. @default 10_000 */
  requestTimeoutMs?: number;
  /** Longest wait for a connection, in ms; part of `requestTimeoutMs`. @default 5_000 */
  connectTimeoutMs?: number;
  /** Shortest wait between two looks at an empty outbox, in ms. @default 50 */
  minPollMs?: number;
  /** Longest wait between two looks at an empty outbox, in ms. @default 2_000 */
  maxPollMs?: number;
  /** Requests in flight to one endpoint, where it sets no limit of its own. @default an eighth of `concurrency`, at least 1 */
  maxInFlightPerEndpoint?: number;
  /** Whether endpoints that keep failing are parked. @default true */
  breaker?: boolean;
}

export const workerDefaults = {
  concurrency: 64,
  prefetch: 768,
  leaseMs: 30_000,
  requestTimeoutMs: 10_000,
  connectTimeoutMs: 5_000,
  minPollMs: 50,
  maxPollMs: 2_000,
  breaker: true,
} as const satisfies WorkerOptions;

/** What a lease must leave for writing the verdict down, in ms. */
const settleMarginMs = 5_000;

export type ResolvedWorkerOptions = Readonly<Required<WorkerOptions>>;

/** @throws {@link ConfigurationError} if a number is absurd, or two cannot work together. */
export function resolveWorkerOptions(given: WorkerOptions = {}): ResolvedWorkerOptions {
  const options = { ...workerDefaults, ...withoutUndefined(given) };
  const resolved = {
    ...options,
    maxInFlightPerEndpoint: given.maxInFlightPerEndpoint ?? Math.max(1, Math.floor(options.concurrency / 8)),
  };
  checkWhole('concurrency', resolved.concurrency, 1, 10_000);
  checkWhole('prefetch', resolved.prefetch, 0, 10_000);
  checkWhole('maxInFlightPerEndpoint', resolved.maxInFlightPerEndpoint, 1, 10_000);
  checkWhole('requestTimeoutMs', resolved.requestTimeoutMs, 10, 600_000);
  checkWhole('connectTimeoutMs', resolved.connectTimeoutMs, 10, 600_000);
  checkWhole('leaseMs', resolved.leaseMs, 100, 3_600_000);
  checkWhole('minPollMs', resolved.minPollMs, 1, 60_000);
  checkWhole('maxPollMs', resolved.maxPollMs, 1, 60_000);
  checkFlag('breaker', resolved.breaker);
  if (resolved.maxPollMs < resolved.minPollMs) {
    throw new ConfigurationError({
      option: 'maxPollMs',
      problem: `must not be below minPollMs (${resolved.minPollMs} ms)`,
    });
  }
  const neededMs = resolved.requestTimeoutMs + marginOf(resolved);
  if (!(resolved.leaseMs >= neededMs)) {
    throw new ConfigurationError({
      option: 'leaseMs',
      problem: `must be at least ${neededMs} ms: requestTimeoutMs (${resolved.requestTimeoutMs} ms) and the time to settle`,
      fix: 'With a shorter lease two workers could send one notification at once.',
    });
  }
  return Object.freeze(resolved);
}

/** The time to settle: 5 s, or half the request deadline where that is shorter. */
export function marginOf({ requestTimeoutMs }: Pick<Required<WorkerOptions>, 'requestTimeoutMs'>): number {
  return Math.min(settleMarginMs, requestTimeoutMs / 2);
}

/** @throws {@link ConfigurationError} unless `value` is a whole number within the bounds. */
export function checkWhole(option: string, value: number, ...[from, to]: [from: number, to: number]): void {
  if (!(Number.isInteger(value) && value >= from && value <= to)) {
    throw new ConfigurationError({
      option,
      problem: `must be a whole number from ${from} to ${to} (got ${String(value)})`,
    });
  }
}

/** An option that is set to undefined means its default, as when it is left out. */
function withoutUndefined<T extends object>(given: T): Partial<T> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Partial<T>;
}
