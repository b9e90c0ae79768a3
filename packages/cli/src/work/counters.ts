import type { Sender, Stats } from '@bestnotify/sender';

/** What a worker has done since it started, by the names under which it is shown. */
export interface Counters {
  readonly attempts: ReadonlyMap<string, number>;
  readonly totals: Readonly<Record<Total, number>>;
}

type Total = 'delivered' | 'dead' | 'claims_lost' | 'refused' | 'endpoints_parked' | 'errors';

export function countEvents(sender: Sender): Counters {
  const attempts = new Map<string, number>();
  const totals: Record<Total, number> = {
    ...{ delivered: 0, dead: 0, claims_lost: 0, refused: 0, endpoints_parked: 0, errors: 0 },
  };
  sender
    .on('attempt', ({ outcome }) => attempts.set(outcome, (attempts.get(outcome) ?? 0) + 1))
    .on('delivered', () => (totals.delivered += 1))
    .on('dead', () => (totals.dead += 1))
    .on('claimLost', () => (totals.claims_lost += 1))
    .on('refused', () => (totals.refused += 1))
    .on('endpointParked', () => (totals.endpoints_parked += 1))
    .on('error', () => (totals.errors += 1));
  return { attempts, totals };
}

/** The text format that Prometheus scrapes, version 0.0.4. */
export function renderMetrics(counters: Counters, live: { inFlight: number; stats: Stats | undefined }): string {
  const lines: string[] = [];
  const add = (
    name: string,
    type: 'counter' | 'gauge',
    samples: readonly (readonly [labels: string, value: number])[],
  ) => {
    lines.push(`# TYPE bestnotify_${name} ${type}`);
    for (const [labels, value] of samples) lines.push(`bestnotify_${name}${labels} ${value}`);
  };
  const attempts = [...counters.attempts].map(([outcome, count]) => [`{outcome="${outcome}"}`, count] as const);
  add('worker_attempts_total', 'counter', attempts);
  for (const [name, count] of Object.entries(counters.totals)) add(`worker_${name}_total`, 'counter', [['', count]]);
  add('worker_in_flight', 'gauge', [['', live.inFlight]]);
  add('worker_database_up', 'gauge', [['', live.stats === undefined ? 0 : 1]]);
  if (live.stats !== undefined) {
    const { due, inFlight, dead, heldEndpoints, parkedEndpoints, oldestDueMs } = live.stats;
    const gauges = { due, in_flight: inFlight, dead, endpoints_held: heldEndpoints, endpoints_parked: parkedEndpoints };
    for (const [name, value] of Object.entries(gauges)) add(`outbox_${name}`, 'gauge', [['', value]]);
    add('outbox_oldest_due_seconds', 'gauge', [['', oldestDueMs / 1000]]);
  }
  return `${lines.join('\n')}\n`;
}
