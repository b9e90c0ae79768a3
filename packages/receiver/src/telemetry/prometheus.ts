import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { processorKey } from '../processor-key.js';
import type { Receiver } from '../receiver.js';
import { counters, gauges, handlerDuration, labelsOf, prometheusName } from './metrics.js';

/** How numbers are shown to Prometheus. */
export interface MetricsOptions {
  /** Where they are registered: your own registry, to have one page for all. @default a registry of its own */
  registry?: Registry;
}

/** A page for Prometheus. */
export interface PrometheusMetrics {
  readonly registry: Registry;
  /** The page, in the text format. */
  text(): Promise<string>;
  /** Answers `GET /metrics`: a route handler for Express, a listener for `http`. Never throws. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Shows what receivers have seen since they were made, and how long their handlers take from now on. Call it once. */
export function prometheusMetrics(
  receivers: Receiver | readonly Receiver[],
  { registry = new Registry() }: MetricsOptions = {},
): PrometheusMetrics {
  const all = 'stats' in receivers ? [receivers] : receivers;
  const registers = [registry];
  const read = (name: string) => {
    const metric = counters[name] ?? gauges[name];
    return all.flatMap((receiver) =>
      Object.entries(metric?.of(receiver.stats()) ?? {}).map(([value, count]) => {
        return { labels: labelsOf(receiver[processorKey].options, metric?.label, value), count };
      }),
    );
  };
  for (const [name, { help, label }] of Object.entries(counters)) {
    new Counter({
      ...{ name: prometheusName(name, { isCounter: true }), help, labelNames: labelNamesOf(label), registers },
      collect() {
        this.reset(); // the receiver has counted
        for (const { labels, count } of read(name)) this.inc(labels, count);
      },
    });
  }
  for (const [name, { help, unit, label }] of Object.entries(gauges)) {
    new Gauge({
      ...{ name: prometheusName(name, { unit }), help, labelNames: labelNamesOf(label), registers },
      collect() {
        this.reset();
        for (const { labels, count } of read(name)) this.set(labels, count);
      },
    });
  }
  timeHandlers(all, registers);
  return {
    registry,
    text: () => registry.metrics(),
    handler: (request, response) => void answer(registry, request, response),
  };
}

function labelNamesOf(label: string | undefined): string[] {
  return ['source', 'to', ...(label === undefined ? [] : [label])];
}

function timeHandlers(receivers: readonly Receiver[], registers: Registry[]): void {
  const { name, help, bounds } = handlerDuration;
  const durations = new Histogram({
    ...{ name: prometheusName(name, { unit: 's' }), help, labelNames: labelNamesOf('outcome'), registers },
    buckets: [...bounds],
  });
  for (const receiver of receivers) {
    const { options, runListeners } = receiver[processorKey];
    runListeners.push((outcome, durationMs) =>
      durations.observe(labelsOf(options, 'outcome', outcome), durationMs / 1000),
    );
  }
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
