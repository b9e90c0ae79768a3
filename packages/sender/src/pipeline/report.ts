import { notificationTimeMs } from '@bestnotify/protocol';
import type { Hooks, NotificationFacts } from '../hooks.js';
import type { ClaimedNotification } from '../worker/claim-batch.js';
import type { Judgement } from '../worker/outcome.js';
import type { Settlement } from '../worker/settle.js';

/** What is told of a notification in events. */
export function factsOf(notification: ClaimedNotification): NotificationFacts {
  const { id, source, to, type, bizId, subject, round } = notification;
  return { id, source, endpoint: to, type, bizId, subject, round };
}

/** Whether a person should hear of this refusal: each time, or only of a notification's first. */
export function isAlert(judgement: Judgement, { attempts }: ClaimedNotification): boolean {
  return judgement.kind === 'retry' && (judgement.alert === 'each' || (judgement.alert === 'first' && attempts === 0));
}

/** Tells the host what was written down. */
export function report(
  hooks: Hooks,
  notification: ClaimedNotification,
  { settlement, isRefusal }: { settlement: Settlement; isRefusal: boolean },
): void {
  const attempts = notification.attempts + Number(settlement.isCharged);
  if (settlement.attempt !== null && hooks.hears('attempt')) {
    const facts = factsOf(notification);
    const { ordinal, outcome, status, because, hint, error, durationMs } = settlement.attempt;
    const nextInMs = settlement.state === 0 ? settlement.delayMs : null;
    hooks.emit('attempt', { ...facts, ordinal, outcome, status, because, hint, error, durationMs, nextInMs });
  }
  if (isRefusal && settlement.attempt !== null) {
    hooks.emit('refused', {
      ...factsOf(notification),
      because: settlement.attempt.because,
      hint: settlement.attempt.hint,
    });
  }
  if (settlement.state === 1 && hooks.hears('delivered')) {
    const reason = settlement.reason ?? 'acknowledged';
    hooks.emit('delivered', {
      ...factsOf(notification),
      ...{ reason, attempts, sinceEnqueuedMs: sinceEnqueuedMs(notification, settlement) },
    });
  }
  if (settlement.state === 2) {
    hooks.emit('dead', { ...factsOf(notification), reason: settlement.reason ?? 'unknown', attempts });
  }
}

/** The id holds the moment; reading it there costs the claim nothing. */
function sinceEnqueuedMs({ id }: ClaimedNotification, { attempt }: Settlement): number {
  return attempt === null ? 0 : Math.max(0, attempt.startedAtMs + attempt.durationMs - notificationTimeMs(id));
}
