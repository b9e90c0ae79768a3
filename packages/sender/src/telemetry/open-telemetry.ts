import {
  createNoopMeter,
  metrics,
  type BatchObservableCallback,
  type Counter,
  type Histogram,
} from '@opentelemetry/api';
import { version } from '../version.js';
import {
  counters,
  gauges,
  histograms,
  measure,
  startingLabels,
  type CounterName,
  type HistogramName,
  type Measured,
} from './metrics.js';

const scope = '@bestnotify/sender';

/**
 * Gives a sender's numbers to the OpenTelemetry meters of this process.
 *
 * @returns what ends it; undefined while nobody has registered a meter provider.
 */
export function meterSender(sender: Measured): (() => void) | undefined {
  const meter = metrics.getMeter(scope, version);
  if (meter instanceof createNoopMeter().constructor) return undefined;
  const counts = new Map<CounterName, Counter>();
  for (const [name, description] of Object.entries(counters) as [CounterName, string][]) {
    const counter = meter.createCounter(`bestnotify.${name}`, { description });
    for (const labels of startingLabels(name, sender.source)) counter.add(0, labels);
    counts.set(name, counter);
  }
  const records = new Map<HistogramName, Histogram>();
  for (const [name, { help, bounds }] of Object.entries(histograms) as [
    HistogramName,
    (typeof histograms)[HistogramName],
  ][]) {
    const advice = { explicitBucketBoundaries: [...bounds] };
    records.set(name, meter.createHistogram(`bestnotify.${name}`, { description: help, unit: 's', advice }));
  }
  const endMeasuring = measure(sender, {
    count: (name, labels) => counts.get(name)?.add(1, labels),
    record: (name, seconds, labels) => records.get(name)?.record(seconds, labels),
  });
  const observed = Object.entries(gauges).map(([name, { help, unit, of }]) => ({
    of,
    gauge: meter.createObservableGauge(`bestnotify.${name}`, {
      description: help,
      ...(unit !== undefined && { unit }),
    }),
  }));
  const observe: BatchObservableCallback = async (result) => {
    const stats = await sender.operations.stats().catch(() => undefined);
    for (const { gauge, of } of observed) {
      const value = of({ inFlight: sender.inFlight, stats });
      if (value !== undefined) result.observe(gauge, value, { source: sender.source });
    }
  };
  const observables = observed.map(({ gauge }) => gauge);
  meter.addBatchObservableCallback(observe, observables);
  return () => {
    endMeasuring();
    meter.removeBatchObservableCallback(observe, observables);
  };
}
