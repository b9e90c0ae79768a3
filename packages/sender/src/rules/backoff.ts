import { attemptsOf, giveUpAgeMs, nextGapMs, type Policy } from './policies.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** What a failed attempt leads to; whole ms. */
export type Schedule =
  /** `last`: after this one a failure is final, by count or by age. */
  { kind: 'retry'; delayMs: number; last: boolean } | { kind: 'dead'; because: 'attempts-used-up' | 'gave-up-by-age' };

/** The facts of a failure that settles now. */
export interface Failure {
  policy: Policy;
  /** The notification's own limit; a larger one repeats the last gap, a smaller one cuts. */
  maxAttempts?: number | null;
  /** Charged attempts of this round, this one included. */
  attemptsMade: number;
  /** Time since the first charged attempt, without the time the endpoint was held. */
  ageMs: number;
  /** A floor under the gap, from `retry-after`. */
  notBeforeMs?: number | undefined;
  /** Uniform in [0, 1). */
  random: number;
}

/**
 * When to try again after a charged failure, or that it is over.
 *
 * Jitter only ever adds, at most 10 %: never earlier than the schedule promised or the endpoint asked. A wait that would end
 * after the give-up moment ends at that moment, and the attempt then is the last.
 */
export function scheduleNext(failure: Failure): Schedule {
  const { policy, maxAttempts, attemptsMade, random } = failure;
  const attempts = attemptsOf(policy, maxAttempts);
  // Negated on purpose, here and below: NaN must end a row, not repeat it for ever.
  if (!(attemptsMade < attempts)) {
    return { kind: 'dead', because: 'attempts-used-up' };
  }
  const remainingMs = giveUpAgeMs(policy, maxAttempts) - Math.max(0, failure.ageMs);
  if (!(remainingMs > 0)) {
    return { kind: 'dead', because: 'gave-up-by-age' };
  }
  const floorMs = finite(failure.notBeforeMs) ?? 0;
  const gapMs = Math.max(nextGapMs(policy, Math.max(1, attemptsMade)), floorMs);
  // The floor is jittered too: ten thousand rows told "in 60 s" by one reply must not come back in one wave.
  const waitMs = Math.ceil(gapMs * (1 + 0.1 * Math.min(1, finite(random) ?? 0)));
  const isCutShort = waitMs >= remainingMs;
  return {
    kind: 'retry',
    delayMs: isCutShort ? Math.ceil(remainingMs) : waitMs,
    last: isCutShort || attemptsMade + 1 >= attempts,
  };
}

/** How long a row waits after something that is not charged: 10 s doubling to 10 min. `waits` is how many came before. */
export function unchargedDelayMs(waits: number): number {
  return doubled(10 * second, waits, 10 * minute);
}

/** By how much a claim's lease grows after claims that expired unsettled: 0, then 30 s doubling to 1 h. */
export function leaseGrowthMs(lostClaims: number): number {
  return lostClaims >= 1 ? doubled(30 * second, lostClaims - 1, hour) : 0;
}

function doubled(baseMs: number, times: number, capMs: number): number {
  return Math.min(baseMs * 2 ** Math.max(0, Math.floor(finite(times) ?? 0)), capMs);
}

/** The number if it is finite and not negative. */
function finite(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) && value >= 0 ? value : undefined;
}
