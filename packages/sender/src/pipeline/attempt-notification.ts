import type { ResolvedWorkerOptions } from '../options.js';
import type { EndpointSettings } from '../outbox/load-endpoints.js';
import { settlementOf } from './settlements.js';
import { activeTracer, traceAttempt } from '../telemetry/tracing.js';
import type { ClaimedNotification } from '../worker/claim-batch.js';
import { composeRequest } from '../worker/compose-request.js';
import type { Deliverer } from '../worker/deliver.js';
import { describeAttempt } from '../worker/describe-attempt.js';
import { judgeResponse, type AckFunction } from '../worker/judge-response.js';
import type { Judgement, Outcome } from '../worker/outcome.js';
import type { Settlement } from '../worker/settle.js';

/** What sending needs from the worker. */
export interface AttemptParts {
  deliverer: Deliverer;
  acks: Readonly<Record<string, AckFunction>>;
  defaultPolicy: string;
  options: ResolvedWorkerOptions;
  /** Monotonic, in ms. */
  now: () => number;
  /** Uniform in [0, 1). */
  random: () => number;
  onError: (during: string, error: unknown) => void;
}

/** What an attempt came to. */
export interface AttemptResult {
  outcome: Outcome;
  judgement: Judgement;
  settlement: Settlement;
}

interface Target {
  notification: ClaimedNotification;
  endpoint: EndpointSettings;
}

/**
 * The steps between claim and settle, in order: compose, deliver, judge, and the verdict in the words of the outbox.
 *
 * @param toDatabaseMs - turns a moment of the monotonic clock into the database's time, in ms since 1970.
 */
export function attemptNotification(
  parts: AttemptParts,
  target: Target,
  toDatabaseMs: (atMs: number) => number,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const tracer = activeTracer();
  if (tracer === undefined) return sendAndJudge(parts, target, toDatabaseMs, signal);
  const { notification, endpoint } = target;
  return traceAttempt(tracer, notification, (traceparent) =>
    sendAndJudge(parts, { notification: { ...notification, traceparent }, endpoint }, toDatabaseMs, signal),
  );
}

function sendAndJudge(
  parts: AttemptParts,
  target: Target,
  toDatabaseMs: (atMs: number) => number,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const startedAtMs = toDatabaseMs(parts.now());
  return send(parts, target, Math.floor(startedAtMs / 1000), signal).then((outcome) =>
    judge(parts, target, outcome, { startedAtMs, endedAtMs: toDatabaseMs(parts.now()) }),
  );
}

function judge(
  parts: AttemptParts,
  { notification, endpoint }: Target,
  outcome: Outcome,
  { startedAtMs, endedAtMs }: { startedAtMs: number; endedAtMs: number },
): AttemptResult {
  const judgement = judgeResponse(outcome, {
    ack: endpoint.ack,
    acks: parts.acks,
    isOwnUrl: notification.url !== null,
    now: new Date(endedAtMs),
  });
  const settlement = settlementOf(notification, {
    outcome,
    judgement,
    facts: describeAttempt(outcome, judgement, { url: notification.url ?? endpoint.url ?? '' }),
    startedAtMs,
    // The notification's own policy, else the endpoint's as it is now, else the sender's.
    policy: notification.policy ?? endpoint.policy ?? parts.defaultPolicy,
    maxAttempts: notification.maxAttempts ?? endpoint.maxAttempts,
    random: parts.random(),
  });
  return { outcome, judgement, settlement };
}

function send(
  parts: AttemptParts,
  { notification, endpoint }: Target,
  timestampSeconds: number,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    if (!hasBody(notification)) throw new TypeError('the body has been erased');
    const request = composeRequest({
      notification,
      endpoint,
      timestampSeconds,
      attemptNumber: notification.attempts + 1,
    });
    return parts.deliverer.deliver(request, { signal });
  } catch (error) {
    // A key that cannot be read, say: ours to mend, and no reason to use up the merchant's attempts (R178, R194).
    parts.onError(`composing ${notification.id}`, error);
    const text = error instanceof Error ? error.message : String(error);
    return Promise.resolve({ kind: 'internal', error: text, durationMs: 0 });
  }
}

/** What has none never gets here: it ends without a request. */
function hasBody(notification: ClaimedNotification): notification is ClaimedNotification & { body: Buffer } {
  return notification.body !== null;
}
