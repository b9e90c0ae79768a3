import { createNoopMeter, metrics, type Observable } from '@opentelemetry/api';
import { processorKey } from '../processor-key.js';
import type { Receiver } from '../receiver.js';
import { counters, gauges, handlerDuration, labelsOf } from './metrics.js';

/** Gives a receiver's numbers to the OpenTelemetry meters of this process; nothing while nobody has registered any. */
export function meterReceiver(receiver: Receiver): void {
  const meter = metrics.getMeter('@bestnotify/receiver');
  if (meter instanceof createNoopMeter().constructor) return;
  const { options, runListeners } = receiver[processorKey];
  const observed = [
    ...Object.entries(counters).map(([name, metric]) => ({
      metric,
      observable: meter.createObservableCounter(`bestnotify.${name}`, { description: metric.help }),
    })),
    ...Object.entries(gauges).map(([name, metric]) => ({
      metric,
      observable: meter.createObservableGauge(`bestnotify.${name}`, {
        description: metric.help,
        ...(metric.unit && { unit: metric.unit }),
      }),
    })),
  ];
  meter.addBatchObservableCallback(
    (result) => {
      const stats = receiver.stats();
      for (const { metric, observable } of observed) {
        for (const [label, value] of Object.entries(metric.of(stats))) {
          result.observe(observable, value, labelsOf(options, metric.label, label));
        }
      }
    },
    observed.map(({ observable }): Observable => observable),
  );
  const { name, help, bounds } = handlerDuration;
  const advice = { explicitBucketBoundaries: [...bounds] };
  const durations = meter.createHistogram(`bestnotify.${name}`, { description: help, unit: 's', advice });
  runListeners.push((outcome, durationMs) =>
    durations.record(durationMs / 1000, labelsOf(options, 'outcome', outcome)),
  );
}
