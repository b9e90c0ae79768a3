import type { EndpointSettings } from './outbox/load-endpoints.js';
import { scheduleNext, unchargedDelayMs } from './rules/backoff.js';
import type { Policy } from './rules/policies.js';
import type { ClaimedNotification } from './worker/claim-batch.js';
import type { AttemptFacts } from './worker/describe-attempt.js';
import type { Judgement, Outcome } from './worker/outcome.js';
import type { Settlement } from './worker/settle.js';

const day = 24 * 60 * 60 * 1000;
/** The receiver forgets after 7 days: what may have arrived is not repeated after 6 without somebody's word. */
const repeatableForMs = 6 * day;
/** A row to which nothing but uncharged waits happens ends this long after its first charged attempt, else after its round began. */
export const waitsForMs = 30 * day;
/** Claims lost in a row after which a person is told, and after which the row is given up. */
export const lostClaimsAlert = 20;
const lostClaimsLimit = 100;

/** What becomes of a notification without a request; undefined if it is to be sent. */
export function endWithoutRequest(
  notification: ClaimedNotification,
  endpoint: EndpointSettings | undefined,
): string | undefined {
  if (notification.lostClaims >= lostClaimsLimit) return 'lost-claims';
  if (endpoint === undefined) return 'endpoint-removed';
  if (notification.body === null) return 'body-erased';
  const mayBeForgotten = notification.mayHaveArrived && notification.knownForMs > repeatableForMs;
  return mayBeForgotten && !notification.duplicateAccepted ? 'outlived-retention' : undefined;
}

/** A verdict in the words of the outbox. Pure: `random` only feeds the jitter. */
export function settlementOf(
  notification: ClaimedNotification,
  result: {
    outcome: Outcome;
    judgement: Judgement;
    facts: AttemptFacts;
    startedAtMs: number;
    policy: Policy;
    maxAttempts: number | null;
    random: number;
  },
): Settlement {
  const { outcome, judgement, facts, policy, maxAttempts, random } = result;
  // A probe is sent to find out about the endpoint, not for the row's own sake.
  const isCharged = judgement.kind !== 'uncharged' && !(judgement.kind === 'retry' && notification.isProbe);
  const ordinal = isCharged ? notification.attempts + 1 : null;
  const base = {
    number: notification.number,
    token: notification.token,
    isCharged,
    mayHaveArrived: mayHaveArrived(outcome, judgement),
    waits: isCharged ? 0 : notification.waits + 1,
    isReturn: false,
    attempt: { ...facts, ordinal, startedAtMs: result.startedAtMs, durationMs: Math.round(outcome.durationMs) },
  };
  switch (judgement.kind) {
    case 'delivered':
      return { ...base, state: 1, delayMs: 0, reason: judgement.reason };
    case 'dead':
      return { ...base, state: 2, delayMs: 0, reason: judgement.because };
    case 'uncharged':
      // What we stopped ourselves is due again at once, whatever its age: its turn was taken from it.
      if (outcome.kind === 'aborted') return { ...base, state: 0, delayMs: 0, reason: null };
      return waiting(notification, base, unchargedDelayMs(notification.waits));
    case 'retry': {
      if (!isCharged) return waiting(notification, base, unchargedDelayMs(notification.waits));
      const schedule = scheduleNext({
        policy,
        maxAttempts,
        attemptsMade: notification.attempts + 1,
        ageMs: notification.ageMs ?? 0,
        notBeforeMs: judgement.notBeforeMs,
        random,
      });
      return schedule.kind === 'dead'
        ? { ...base, state: 2, delayMs: 0, reason: schedule.because }
        : { ...base, state: 0, delayMs: schedule.delayMs, reason: null };
    }
    default:
      return judgement satisfies never;
  }
}

type Base = Omit<Settlement, 'state' | 'delayMs' | 'reason'>;

/** Nothing was charged: the row waits, but not for ever. */
function waiting(notification: ClaimedNotification, base: Base, delayMs: number): Settlement {
  const { ageMs, roundAgeMs } = notification;
  return (ageMs ?? roundAgeMs) > waitsForMs
    ? { ...base, state: 2, delayMs: 0, reason: ageMs === null ? 'never-attempted' : 'gave-up-by-age' }
    : { ...base, state: 0, delayMs, reason: null };
}

/** A row that is given back as it was, because it was not started. */
export function returnOf(notification: ClaimedNotification): Settlement {
  return {
    number: notification.number,
    token: notification.token,
    state: 0,
    delayMs: 0,
    reason: null,
    isCharged: false,
    mayHaveArrived: false,
    waits: notification.waits,
    isReturn: true,
    attempt: null,
  };
}

/** A row that waits because of a fault of ours. */
export function waitOf(notification: ClaimedNotification): Settlement {
  const { waits } = notification;
  const base = { ...returnOf(notification), isReturn: false, waits: waits + 1 };
  return waiting(notification, base, unchargedDelayMs(waits));
}

/** A row that ends without another request. */
export function endOf(notification: ClaimedNotification, reason: string): Settlement {
  return { ...returnOf(notification), state: 2, reason, isReturn: false };
}

/** A clear refusal leaves no doubt; an acknowledgement, or no answer at all, does. */
function mayHaveArrived(outcome: Outcome, judgement: Judgement): boolean {
  switch (outcome.kind) {
    case 'replied':
      return judgement.kind === 'delivered';
    case 'no-answer':
      return true;
    case 'aborted':
      return outcome.mayHaveArrived;
    case 'not-sent':
    case 'internal':
      return false;
    default:
      return outcome satisfies never;
  }
}
