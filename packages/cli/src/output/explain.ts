import type { AttemptSummary, Endpoint, NotificationDetails } from '@bestnotify/sender';

/** Why a notification is where it is, for somebody who has never seen this; and the command that mends it. */
interface Explanation {
  why: string;
  /** Null where nothing is left to do here. */
  next: string | null;
}

const reasons: Readonly<Record<string, string>> = {
  handled: 'the merchant handled it',
  duplicate: 'the merchant says that it had handled it before',
  stale: 'the merchant says that it knew something newer',
  ignored: 'the merchant says that it has no use for this type',
  acknowledged: 'the merchant acknowledged it',
  'attempts-used-up': 'given up: every attempt was used up',
  'gave-up-by-age': 'given up: it got too old before an attempt succeeded',
  'never-attempted': 'given up: it could not even be attempted for too long',
  'payload-conflict': 'given up: the merchant knows this business id with another body',
  gone: 'given up: the endpoint answered 410 Gone',
  'outlived-retention': 'given up: it may have arrived, and the merchant may have forgotten it by now',
  'endpoint-removed': 'given up: its endpoint was removed',
  'lost-claims': 'given up: workers died with it again and again',
};

export function explain(details: NotificationDetails, endpoint: Endpoint | undefined, now: Date): Explanation {
  const { id, state, reason, attemptLog } = details;
  const last = attemptLog.at(-1);
  const lastWords = last === undefined ? '' : `; the last attempt: ${describeAttempt(last)}`;
  switch (state) {
    case 'pending':
      return explainPending(details, endpoint, { lastWords, now });
    case 'delivered':
      return { why: reasons[reason ?? ''] ?? `delivered (${reason ?? '-'})`, next: null };
    case 'dead':
      return {
        why: `${reasons[reason ?? ''] ?? `given up (${reason ?? '-'})`}${lastWords}`,
        next:
          reason === 'payload-conflict'
            ? `settle it with the merchant, then bestnotify close ${id} --note …`
            : `once that is mended: bestnotify resend ${id}`,
      };
    case 'closed':
      return { why: 'was given up, and somebody made it good by hand', next: `bestnotify audit --notification ${id}` };
    case 'cancelled':
      return { why: 'somebody ended it before it was delivered', next: `bestnotify audit --notification ${id}` };
    default:
      return state satisfies never;
  }
}

function explainPending(
  { id, isClaimed, dueAt, endpoint: endpointId }: NotificationDetails,
  endpoint: Endpoint | undefined,
  { lastWords, now }: { lastWords: string; now: Date },
): Explanation {
  if (isClaimed) return { why: `it is being sent right now${lastWords}`, next: null };
  if (endpoint?.heldBecause != null) {
    return {
      why: `its endpoint is held (${endpoint.heldBecause}); held notifications are kept and not sent`,
      next: `bestnotify endpoints resume ${endpointId}`,
    };
  }
  if (endpoint?.parkedForMs != null) {
    const failures = `its endpoint is parked after ${endpoint.failures} failures in a row`;
    return {
      why: `${failures}, and is probed again in ${duration(endpoint.parkedForMs)}${lastWords}`,
      next: 'it goes on by itself once the endpoint answers the probe',
    };
  }
  const waitMs = dueAt.getTime() - now.getTime();
  if (waitMs > 0) {
    return { why: `it waits ${duration(waitMs)} for its next attempt${lastWords}`, next: `bestnotify send-now ${id}` };
  }
  return {
    why: `it has been due for ${duration(-waitMs)}, and no worker has taken it${lastWords}`,
    next: 'is a worker running? bestnotify work, or once: bestnotify process',
  };
}

/** What came of a request, in a few words. */
function describeAttempt({ outcome, status, because, hint, error }: AttemptSummary): string {
  const more = hint ?? error ?? (because === `status-${status ?? ''}` ? null : because);
  const detail = more === null ? '' : ` (${more})`;
  if (status !== null) return `the endpoint answered ${status}${detail}`;
  return `${outcome === 'not-sent' ? 'it could not be sent' : 'no whole answer came'}${detail}`;
}

function duration(ms: number): string {
  const seconds = Math.max(1, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}
