import type { ReceiverStats } from '../hooks.js';

/** One number, under the name that it has in OpenTelemetry after `bestnotify.`. */
interface Metric {
  help: string;
  unit?: 's';
  /** Its own label, beside `source` and `to`. */
  label?: 'reason';
  /** Its values by that label; without one, under ''. */
  of: (stats: ReceiverStats) => Readonly<Record<string, number>>;
}

/** What only grows. */
export const counters: Readonly<Record<string, Metric>> = {
  'receiver.requests': {
    help: 'Requests, by the reason in the reply.',
    label: 'reason',
    of: ({ replies }) => replies,
  },
  'receiver.signature_refusals': {
    help: 'Signatures that were refused, by what was wrong with them.',
    label: 'reason',
    of: ({ signatures }) => signatures,
  },
  'receiver.leases_lost': {
    help: 'Handlers that were told to stop because their lease was lost.',
    of: ({ leasesLost }) => ({ '': leasesLost }),
  },
  'receiver.records_lost': {
    help: 'Finished handlers whose record could not be written in time: a copy of those would run again.',
    of: ({ recordsLost }) => ({ '': recordsLost }),
  },
};

export const gauges: Readonly<Record<string, Metric>> = {
  'receiver.running': { help: 'Handlers running now.', of: ({ running }) => ({ '': running }) },
  'receiver.last_accepted_timestamp': {
    help: 'When a notification was last answered success, since 1970: refusing everything is silent otherwise.',
    unit: 's',
    of: ({ lastAcceptedAt }) => (lastAcceptedAt === undefined ? {} : { '': lastAcceptedAt.getTime() / 1000 }),
  },
};

/** In seconds, by `outcome`: how a handler's run ended. */
export const handlerDuration = {
  name: 'receiver.handler.duration',
  help: 'How long handlers ran, by outcome: done, ignored, later or failed.',
  bounds: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 8, 10, 30],
} as const;

/** The name in Prometheus, by its rules. */
export function prometheusName(
  name: string,
  { unit, isCounter = false }: { unit?: 's' | undefined; isCounter?: boolean } = {},
): string {
  return `bestnotify_${name.replaceAll('.', '_')}${unit === 's' ? '_seconds' : ''}${isCounter ? '_total' : ''}`;
}

/** The labels of one value. Few: a process has few receivers, and reasons are the table's. */
export function labelsOf(
  of: { source: string; to: string },
  label: string | undefined,
  value: string,
): Record<string, string> {
  const { source, to } = of;
  return label === undefined ? { source, to } : { source, to, [label]: value };
}
