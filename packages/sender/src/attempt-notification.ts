import type { ResolvedWorkerOptions } from './options.js';
import type { EndpointSettings } from './outbox/load-endpoints.js';
import { decodePolicy } from './rules/policies.js';
import { settlementOf } from './settlements.js';
import type { ClaimedNotification } from './worker/claim-batch.js';
import { composeRequest } from './worker/compose-request.js';
import type { Deliverer } from './worker/deliver.js';
import { describeAttempt } from './worker/describe-attempt.js';
import { judgeResponse, type AckFunction } from './worker/judge-response.js';
import type { Judgement, Outcome } from './worker/outcome.js';
import type { Settlement } from './worker/settle.js';

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

/**
 * The steps between claim and settle, in order: compose, deliver, judge, and the verdict in the words of the outbox.
 *
 * @param toDatabaseMs - turns a moment of the monotonic clock into the database's time, in ms since 1970.
 */
export async function attemptNotification(
  parts: AttemptParts,
  { notification, endpoint }: { notification: ClaimedNotification; endpoint: EndpointSettings },
  toDatabaseMs: (atMs: number) => number,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const startedAtMs = toDatabaseMs(parts.now());
  const outcome = await send(
    parts,
    { notification, endpoint, timestampSeconds: Math.floor(startedAtMs / 1000) },
    signal,
  );
  const judgement = judgeResponse(outcome, {
    ack: endpoint.ack,
    acks: parts.acks,
    isOwnUrl: notification.url !== null,
    now: new Date(toDatabaseMs(parts.now())),
  });
  const settlement = settlementOf(notification, {
    outcome,
    judgement,
    facts: describeAttempt(outcome, judgement, { url: notification.url ?? endpoint.url ?? '' }),
    startedAtMs,
    // The notification's own policy, else the endpoint's as it is now, else the sender's.
    policy: decodePolicy(notification.policy ?? endpoint.policy ?? parts.defaultPolicy),
    maxAttempts: notification.maxAttempts ?? endpoint.maxAttempts,
    random: parts.random(),
  });
  return { outcome, judgement, settlement };
}

async function send(
  parts: AttemptParts,
  request: { notification: ClaimedNotification; endpoint: EndpointSettings; timestampSeconds: number },
  signal: AbortSignal,
): Promise<Outcome> {
  const { notification, endpoint, timestampSeconds } = request;
  try {
    const composed = composeRequest({
      notification: { ...notification, body: notification.body ?? Buffer.alloc(0) },
      endpoint,
      timestampSeconds,
      attemptNumber: notification.attempts + 1,
    });
    return await parts.deliverer.deliver(composed, { signal });
  } catch (error) {
    // A key that cannot be read, say: ours to mend, and no reason to use up the merchant's attempts (R178, R194).
    parts.onError(`composing ${notification.id}`, error);
    return { kind: 'internal', error: error instanceof Error ? error.message : String(error), durationMs: 0 };
  }
}
