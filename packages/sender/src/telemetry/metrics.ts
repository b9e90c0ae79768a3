import type { EventName, Listener, NotificationFacts, SenderEvents } from '../hooks.js';
import type { Stats } from '../outbox/operations/stats.js';

/**
 * Every number that a sender shows, under the name that it has in OpenTelemetry after `bestnotify.`. {@link prometheusName} gives the
 * other one; dashboards and alerts depend on both.
 */
export const counters = {
  'worker.attempts': 'Requests made, or not even made, by outcome.',
  'worker.delivered': 'Notifications that were acknowledged.',
  'worker.dead': 'Notifications that were given up.',
  'worker.claims_lost':
    'Results that were not written, because the claim had run out; those notifications are sent again.',
  'worker.refused': 'Refusals that point to a wrong key, clock or set-up.',
  'worker.endpoints_parked': 'Times that an endpoint was parked.',
  'worker.errors': 'Faults of our own, the database being away among them.',
} as const;

/** In seconds, with the upper bounds of their buckets. */
export const histograms = {
  'worker.attempt.duration': {
    help: 'How long a request took, by outcome.',
    bounds: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  'worker.delivery.latency': {
    help: 'From enqueueing to the acknowledgement, for notifications that were not resent.',
    bounds: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14_400, 86_400, 259_200],
  },
} as const;

interface Gauge {
  help: string;
  unit?: 's';
  /** Undefined while the database does not answer. */
  of: (live: { inFlight: number; stats: Stats | undefined }) => number | undefined;
}

export const gauges: Readonly<Record<string, Gauge>> = {
  'worker.in_flight': { help: 'Requests in flight in this process.', of: ({ inFlight }) => inFlight },
  'worker.database_up': {
    help: 'Whether the database answers: 1 or 0.',
    of: ({ stats }) => (stats === undefined ? 0 : 1),
  },
  'outbox.due': { help: 'Notifications that are due, at most 10000.', of: ({ stats }) => stats?.due },
  'outbox.in_flight': { help: 'Notifications that are claimed, by any worker.', of: ({ stats }) => stats?.inFlight },
  'outbox.dead': {
    help: 'Notifications that were given up and not resent, at most 10000.',
    of: ({ stats }) => stats?.dead,
  },
  'outbox.endpoints_held': { help: 'Endpoints that are held.', of: ({ stats }) => stats?.heldEndpoints },
  'outbox.endpoints_parked': { help: 'Endpoints that are parked now.', of: ({ stats }) => stats?.parkedEndpoints },
  'outbox.oldest_due': {
    help: 'How long the notification has waited that has been due longest.',
    unit: 's',
    of: ({ stats }) => (stats === undefined ? undefined : stats.oldestDueMs / 1000),
  },
};

export type CounterName = keyof typeof counters;
export type HistogramName = keyof typeof histograms;

/** The name in Prometheus, by its rules: counters end in `_total`, durations in `_seconds`. */
export function prometheusName(
  name: string,
  { unit, isCounter = false }: { unit?: 's' | undefined; isCounter?: boolean } = {},
): string {
  return `bestnotify_${name.replaceAll('.', '_')}${unit === 's' ? '_seconds' : ''}${isCounter ? '_total' : ''}`;
}

const outcomes = ['acknowledged', 'refused', 'no-answer', 'not-sent', 'aborted', 'internal'] as const;

/** Counters of something that happened to one notification: these may have {@link ExtraLabel}s. */
export const perNotification: ReadonlySet<string> = new Set<CounterName>([
  'worker.attempts',
  'worker.delivered',
  'worker.dead',
  'worker.claims_lost',
  'worker.refused',
]);

/** A label that counters may have beside their own. `endpoint` makes a series for every merchant: for platforms with few. */
export type ExtraLabel = 'type' | 'endpoint';
export type Labels = Record<string, string>;

/** Where numbers go. */
export interface Meters {
  count(name: CounterName, labels: Labels): void;
  record(name: HistogramName, seconds: number, labels: Labels): void;
}

/** What is measured: a sender, whichever copy of the package made it. */
export interface Measured {
  readonly source: string;
  readonly inFlight: number;
  readonly operations: { stats(): Promise<Stats> };
  on<Name extends EventName>(name: Name, listener: Listener<Name>): unknown;
  off<Name extends EventName>(name: Name, listener: Listener<Name>): unknown;
}

/** What a counter starts with: a series that appears with its first event hides that event from `rate()`. */
export function startingLabels(name: string, source: string): Labels[] {
  return name === 'worker.attempts' ? outcomes.map((outcome) => ({ source, outcome })) : [{ source }];
}

/**
 * Turns a sender's events into numbers. Each has the label `source`: a process may have senders for several.
 *
 * @returns what ends it.
 */
export function measure(sender: Measured, meters: Meters, extra: readonly ExtraLabel[] = []): () => void {
  const ends: (() => void)[] = [];
  const hear = <Name extends EventName>(name: Name, listener: Listener<Name>) => {
    sender.on(name, listener);
    ends.push(() => sender.off(name, listener));
  };
  const own = { source: sender.source };
  const labelsOf = (facts: NotificationFacts): Labels =>
    extra.length === 0 ? own : { ...own, ...Object.fromEntries(extra.map((label) => [label, facts[label]])) };
  const counted = {
    dead: 'worker.dead',
    claimLost: 'worker.claims_lost',
    refused: 'worker.refused',
  } as const satisfies Partial<Record<EventName, CounterName>>;
  for (const [name, counter] of Object.entries(counted) as [keyof typeof counted, CounterName][]) {
    hear(name, (facts: SenderEvents['claimLost']) => meters.count(counter, labelsOf(facts)));
  }
  hear('attempt', (facts) => {
    const { outcome, durationMs } = facts;
    meters.count('worker.attempts', { ...labelsOf(facts), outcome });
    meters.record('worker.attempt.duration', durationMs / 1000, { ...own, outcome });
  });
  hear('delivered', (facts) => {
    meters.count('worker.delivered', labelsOf(facts));
    // One that was resent had its chance; how long somebody took to resend it is no latency of ours.
    if (facts.round === 1) meters.record('worker.delivery.latency', facts.sinceEnqueuedMs / 1000, own);
  });
  hear('endpointParked', () => meters.count('worker.endpoints_parked', own));
  hear('error', () => meters.count('worker.errors', own));
  return () => {
    for (const end of ends) end();
  };
}
