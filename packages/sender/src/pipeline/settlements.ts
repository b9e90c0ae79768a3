import type { EndpointSettings } from '../outbox/load-endpoints.js';
import { scheduleNext, unchargedDelayMs } from '../rules/backoff.js';
import { decodePolicy } from '../rules/policies.js';
import type { ClaimedNotification } from '../worker/claim-batch.js';
import type { AttemptFacts } from '../worker/describe-attempt.js';
import type { Judgement, Outcome } from '../worker/outcome.js';
import type { Settlement } from '../worker/settle.js';

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

/** How an attempt ended, and what its next one depends on. */
interface AttemptEnd {
  outcome: Outcome;
  judgement: Judgement;
  facts: AttemptFacts;
  startedAtMs: number;
  /** As text: only a failure needs it. */
  policy: string;
  maxAttempts: number | null;
  random: number;
}

/** A verdict in the words of the outbox. Pure: `random` only feeds the jitter. */
export function settlementOf(notification: ClaimedNotification, result: AttemptEnd): Settlement {
  const { outcome, judgement, facts } = result;
  // A probe is sent to find out about the endpoint, not for the row's own sake.
  const isCharged = judgement.kind !== 'uncharged' && !(judgement.kind === 'retry' && notification.isProbe);
  const { state, delayMs, reason } = fateOf(notification, result, isCharged);
  return {
    number: notification.number,
    token: notification.token,
    state,
    delayMs,
    reason,
    isCharged,
    heldMs: notification.heldMs,
    mayHaveArrived: mayHaveArrived(outcome, judgement),
    waits: isCharged ? 0 : notification.waits + 1,
    isReturn: false,
    attempt: {
      ordinal: isCharged ? notification.attempts + 1 : null,
      startedAtMs: result.startedAtMs,
      durationMs: Math.round(outcome.durationMs),
      outcome: facts.outcome,
      status: facts.status,
      because: facts.because,
      hint: facts.hint,
      error: facts.error,
      snippetHex: facts.snippetHex,
      url: facts.url,
    },
  };
}

type Fate = Pick<Settlement, 'state' | 'delayMs' | 'reason'>;

/** Where a verdict leaves the row. */
function fateOf(notification: ClaimedNotification, result: AttemptEnd, isCharged: boolean): Fate {
  const { outcome, judgement, policy, maxAttempts, random } = result;
  switch (judgement.kind) {
    case 'delivered':
      return { state: 1, delayMs: 0, reason: judgement.reason };
    case 'dead':
      return { state: 2, delayMs: 0, reason: judgement.because };
    case 'uncharged':
      // What we stopped ourselves is due again at once, whatever its age: its turn was taken from it.
      if (outcome.kind === 'aborted') return { state: 0, delayMs: 0, reason: null };
      return waiting(notification, unchargedDelayMs(notification.waits));
    case 'retry': {
      if (!isCharged) return waiting(notification, unchargedDelayMs(notification.waits));
      const schedule = scheduleNext({
        policy: decodePolicy(policy),
        maxAttempts,
        attemptsMade: notification.attempts + 1,
        ageMs: notification.ageMs ?? 0,
        notBeforeMs: judgement.notBeforeMs,
        random,
      });
      return schedule.kind === 'dead'
        ? { state: 2, delayMs: 0, reason: schedule.because }
        : { state: 0, delayMs: schedule.delayMs, reason: null };
    }
    default:
      return judgement satisfies never;
  }
}

/** Nothing was charged: the row waits, but not for ever. */
function waiting(notification: ClaimedNotification, delayMs: number): Fate {
  const { ageMs, roundAgeMs } = notification;
  return (ageMs ?? roundAgeMs) > waitsForMs
    ? { state: 2, delayMs: 0, reason: ageMs === null ? 'never-attempted' : 'gave-up-by-age' }
    : { state: 0, delayMs, reason: null };
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
    heldMs: 0,
    mayHaveArrived: false,
    waits: notification.waits,
    isReturn: true,
    attempt: null,
  };
}

/** A row that waits because of a fault of ours. */
export function waitOf(notification: ClaimedNotification): Settlement {
  const { waits } = notification;
  const fate = waiting(notification, unchargedDelayMs(waits));
  return { ...returnOf(notification), ...fate, isReturn: false, waits: waits + 1 };
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
