import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Stats } from '../outbox/operations/stats.js';
import {
  counters,
  gauges,
  histograms,
  measure,
  perNotification,
  prometheusName,
  startingLabels,
  type ExtraLabel,
  type Measured,
} from './metrics.js';

/** How numbers are shown to Prometheus. */
export interface MetricsOptions {
  /** Where they are registered: your own registry, to have one page for all. @default a registry of its own */
  registry?: Registry;
  /** More labels for the counters of attempts, deliveries, deaths, lost claims and refusals. @default [] */
  labels?: readonly ExtraLabel[];
  /** Gives the state of the outbox; undefined while the database is away. @default asks it at each scrape, for at most 5 s */
  readStats?: (sender: Measured) => Stats | undefined | Promise<Stats | undefined>;
}

/** A page for Prometheus. */
export interface PrometheusMetrics {
  readonly registry: Registry;
  /** The page, in the text format. */
  text(): Promise<string>;
  /** Answers `GET /metrics`: a route handler for Express, a listener for `http`. Never throws. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** Stops counting. */
  close(): void;
}

/**
 * Counts what senders do from now on, and asks how their outboxes are doing whenever Prometheus looks. Call it once, before their
 * workers start.
 */
export function prometheusMetrics(
  senders: Measured | readonly Measured[],
  options: MetricsOptions = {},
): PrometheusMetrics {
  const { registry = new Registry(), labels = [], readStats = askInTime } = options;
  const all = 'on' in senders ? [senders] : senders;
  const registers = [registry];
  const counts = new Map(
    Object.entries(counters).map(([name, help]) => {
      const labelNames = labelNamesOf(name, labels);
      const counter = new Counter({ name: prometheusName(name, { isCounter: true }), help, labelNames, registers });
      return [name, counter] as const;
    }),
  );
  const records = new Map(
    Object.entries(histograms).map(([name, { help, bounds }]) => {
      const of = { labelNames: labelNamesOf(name, []), buckets: [...bounds], registers };
      return [name, new Histogram({ name: prometheusName(name, { unit: 's' }), help, ...of })] as const;
    }),
  );
  for (const { source } of all) startAtZero(counts, source, labels);
  addGauges(all, { registers, readStats });
  const ends = all.map((sender) =>
    measure(
      sender,
      {
        count: (name, of) => counts.get(name)?.inc(of),
        record: (name, seconds, of) => records.get(name)?.observe(of, seconds),
      },
      labels,
    ),
  );
  return {
    registry,
    text: () => registry.metrics(),
    handler: (request, response) => void answer(registry, request, response),
    close: () => {
      for (const end of ends) end();
    },
  };
}

function labelNamesOf(name: string, extra: readonly ExtraLabel[]): string[] {
  const isByOutcome = name === 'worker.attempts' || name === 'worker.attempt.duration';
  return ['source', ...(isByOutcome ? ['outcome'] : []), ...(perNotification.has(name) ? extra : [])];
}

function startAtZero(counts: ReadonlyMap<string, Counter>, source: string, extra: readonly ExtraLabel[]): void {
  for (const [name, counter] of counts) {
    if (extra.length > 0 && perNotification.has(name)) continue; // whose, is not known yet
    for (const of of startingLabels(name, source)) counter.inc(of, 0);
  }
}

/** Gauges are read when they are asked for, and all of one scrape from one look at each outbox. */
function addGauges(
  senders: readonly Measured[],
  { registers, readStats }: { registers: Registry[]; readStats: NonNullable<MetricsOptions['readStats']> },
): void {
  let looking: Promise<(Stats | undefined)[]> | undefined;
  const look = async (sender: Measured) => readStats(sender);
  const lookAtAll = () => {
    looking ??= Promise.all(senders.map((sender) => look(sender).catch(() => undefined))).finally(
      () => (looking = undefined),
    );
    return looking;
  };
  for (const [name, { help, unit, of }] of Object.entries(gauges)) {
    new Gauge({
      name: prometheusName(name, { unit }),
      help,
      labelNames: ['source'],
      registers,
      async collect() {
        const stats = await lookAtAll();
        this.reset(); // an old number would look like a fresh one
        for (const [place, { source, inFlight }] of senders.entries()) {
          const value = of({ inFlight, stats: stats[place] });
          if (value !== undefined) this.set({ source }, value);
        }
      },
    });
  }
}

const statsTimeoutMs = 5_000;

/** Prometheus gives up after 10 s; a database that is silent must not take the counters with it. */
async function askInTime(sender: Measured): Promise<Stats | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), statsTimeoutMs);
  });
  return Promise.race([sender.operations.stats(), patience]).finally(() => clearTimeout(timer));
}

async function answer(registry: Registry, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.writeHead(405, { allow: 'GET, HEAD', 'content-type': 'text/plain' }).end('only GET\n');
    return;
  }
  try {
    const page = await registry.metrics();
    response.writeHead(200, { 'content-type': registry.contentType, 'cache-control': 'no-store' }).end(page);
  } catch {
    response.writeHead(500, { 'content-type': 'text/plain' }).end('the metrics could not be read\n');
  }
}
