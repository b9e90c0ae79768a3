import { notificationTimeMs } from '@bestnotify/protocol';
import type { Hooks, NotificationFacts, SenderEvents } from '../hooks.js';
import type { ClaimedNotification } from '../worker/claim-batch.js';
import type { Judgement } from '../worker/outcome.js';
import type { AttemptRecord, Settlement } from '../worker/settle.js';

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
    const nextInMs = settlement.state === 0 ? settlement.delayMs : null;
    hooks.emit('attempt', attemptEvent(notification, settlement.attempt, nextInMs));
  }
  if (isRefusal && settlement.attempt !== null) {
    hooks.emit('refused', {
      ...factsOf(notification),
      because: settlement.attempt.because,
      hint: settlement.attempt.hint,
    });
  }
  if (settlement.state === 1 && hooks.hears('delivered')) {
    hooks.emit('delivered', deliveredEvent(notification, settlement, attempts));
  }
  if (settlement.state === 2) {
    hooks.emit('dead', { ...factsOf(notification), reason: settlement.reason ?? 'unknown', attempts });
  }
}

// The two events of nearly every attempt are one literal each: spreading the facts into them takes ten times as long.

function attemptEvent(
  { id, source, to, type, bizId, subject, round }: ClaimedNotification,
  { ordinal, outcome, status, because, hint, error, durationMs }: AttemptRecord,
  nextInMs: number | null,
): SenderEvents['attempt'] {
  return {
    id,
    source,
    endpoint: to,
    type,
    bizId,
    subject,
    round,
    ordinal,
    outcome,
    status,
    because,
    hint,
    error,
    durationMs,
    nextInMs,
  };
}

function deliveredEvent(
  notification: ClaimedNotification,
  settlement: Settlement,
  attempts: number,
): SenderEvents['delivered'] {
  const { id, source, to, type, bizId, subject, round } = notification;
  return {
    id,
    source,
    endpoint: to,
    type,
    bizId,
    subject,
    round,
    reason: settlement.reason ?? 'acknowledged',
    attempts,
    sinceEnqueuedMs: sinceEnqueuedMs(notification, settlement),
  };
}

/** The id holds the moment; reading it there costs the claim nothing. */
function sinceEnqueuedMs({ id }: ClaimedNotification, { attempt }: Settlement): number {
  return attempt === null ? 0 : Math.max(0, attempt.startedAtMs + attempt.durationMs - notificationTimeMs(id));
}
