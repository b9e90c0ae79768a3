import { prometheusMetrics as receiverMetrics } from '@bestnotify/receiver/prometheus';
import { prometheusMetrics } from '@bestnotify/sender/prometheus';
import { metrics, type Attributes } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type Histogram,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import express from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { openBusyDay } from './busy-day.ts';

/** The samples of a page: name and sorted labels, and the value. */
function samplesOf(page: string): Map<string, number> {
  const lines = page.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const [, name = '', labels = '', value = ''] = /^([^{ ]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? expect.fail(line);
      return [sample(name, labels), Number(value)];
    }),
  );
}

function sample(name: string, labels: string): string {
  return `${name}{${labels.split(',').sort().join()}}`;
}

test('a page shows what was sent, what failed, what died and what is parked', async () => {
  await using day = await openBusyDay();
  const page = prometheusMetrics(day.outbox.sender);
  await day.work();
  const samples = samplesOf(await page.text());

  const expected = {
    'bestnotify_worker_attempts_total{outcome="acknowledged",source="acme-pay"}': 1,
    'bestnotify_worker_attempts_total{outcome="refused",source="acme-pay"}': 12,
    'bestnotify_worker_attempts_total{outcome="no-answer",source="acme-pay"}': 0,
    'bestnotify_worker_delivered_total{source="acme-pay"}': 1,
    'bestnotify_worker_dead_total{source="acme-pay"}': 1,
    'bestnotify_worker_claims_lost_total{source="acme-pay"}': 0,
    'bestnotify_worker_refused_total{source="acme-pay"}': 1,
    'bestnotify_worker_endpoints_parked_total{source="acme-pay"}': 1,
    'bestnotify_worker_errors_total{source="acme-pay"}': 0,
    'bestnotify_worker_in_flight{source="acme-pay"}': 0,
    'bestnotify_worker_database_up{source="acme-pay"}': 1,
    'bestnotify_outbox_due{source="acme-pay"}': 0,
    'bestnotify_outbox_dead{source="acme-pay"}': 1,
    'bestnotify_outbox_endpoints_parked{source="acme-pay"}': 1,
    'bestnotify_outbox_endpoints_held{source="acme-pay"}': 0,
    'bestnotify_outbox_oldest_due_seconds{source="acme-pay"}': 0,
    'bestnotify_worker_delivery_latency_seconds_count{source="acme-pay"}': 1,
    'bestnotify_worker_attempt_duration_seconds_count{outcome="refused",source="acme-pay"}': 12,
    'bestnotify_worker_delivery_latency_seconds_bucket{le="60",source="acme-pay"}': 1,
  };
  expect(Object.fromEntries(Object.keys(expected).map((name) => [name, samples.get(name)]))).toEqual(expected);
  expect([...samples.keys()].join()).not.toMatch(/merchant|wrong-key|down|PAY/);

  page.close();
  await day.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId: 'LATER' });
  await day.outbox.sender.runOnce();
  expect(samplesOf(await page.text()).get('bestnotify_worker_delivered_total{source="acme-pay"}')).toBe(1);
});

test('the latency of a delivery runs from its enqueueing, and what was resent has none', async () => {
  await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
  await using merchant = await scriptedEndpoint(200, 503, 200);
  await outbox.putEndpoint({ id: 'm', url: merchant.url, maxAttempts: 1 });
  const latencies: number[] = [];
  outbox.sender.on('delivered', ({ sinceEnqueuedMs }) => latencies.push(sinceEnqueuedMs));
  const page = prometheusMetrics(outbox.sender);
  const startedAtMs = performance.now();
  await outbox.sender.notify({ endpoint: 'm', ...paid });
  await outbox.sender.runOnce();
  const tookMs = performance.now() - startedAtMs;
  const { id } = await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'PAY2' });
  await outbox.sender.runOnce();
  await outbox.sender.operations.resend(id);
  await outbox.sender.runOnce();

  expect(latencies).toHaveLength(2);
  expect(latencies[0]).toBeGreaterThanOrEqual(0);
  expect(latencies[0]).toBeLessThanOrEqual(tookMs + 50); // two clocks, of one machine
  const samples = samplesOf(await page.text());
  expect(samples.get('bestnotify_worker_delivered_total{source="acme-pay"}')).toBe(2);
  expect(samples.get('bestnotify_worker_delivery_latency_seconds_count{source="acme-pay"}')).toBe(1);
});

test('types and endpoints are labels only where they are asked for', async () => {
  await using day = await openBusyDay();
  const page = prometheusMetrics(day.outbox.sender, { labels: ['type', 'endpoint'] });
  await day.work();
  const samples = samplesOf(await page.text());
  const of = 'endpoint="down",outcome="refused",source="acme-pay",type="payment.success"';
  expect(samples.get(`bestnotify_worker_attempts_total{${of}}`)).toBe(10);
  expect(
    samples.get('bestnotify_worker_delivered_total{endpoint="merchant-42",source="acme-pay",type="payment.success"}'),
  ).toBe(1);
  expect([...samples.keys()].filter((name) => name.includes('_bucket') && name.includes('endpoint='))).toEqual([]);
});

test('while the database is away the page says so, and shows nothing old', async () => {
  await using day = await openBusyDay();
  let isAway = false;
  const page = prometheusMetrics(day.outbox.sender, {
    readStats: () => (isAway ? Promise.reject(new Error('away')) : day.outbox.sender.operations.stats()),
  });
  expect(samplesOf(await page.text()).get('bestnotify_outbox_due{source="acme-pay"}')).toBe(0);
  isAway = true;
  const samples = samplesOf(await page.text());
  expect(samples.get('bestnotify_worker_database_up{source="acme-pay"}')).toBe(0);
  expect([...samples.keys()].filter((name) => name.startsWith('bestnotify_outbox'))).toEqual([]);
  expect(samples.get('bestnotify_worker_delivered_total{source="acme-pay"}')).toBe(0);
});

test('two senders and their receivers share one registry of the host, and one route', async () => {
  await using first = await openBusyDay();
  await using second = await openBusyDay({ sender: { source: 'acme-pay-test' } });
  const registry = new Registry();
  const page = prometheusMetrics([first.outbox.sender, second.outbox.sender], { registry });
  receiverMetrics([first.receiver], { registry });
  await first.work();

  const app = express().get('/metrics', page.handler);
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  const response = await fetch(url);
  const samples = samplesOf(await response.text());
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect(samples.get('bestnotify_worker_delivered_total{source="acme-pay"}')).toBe(1);
  expect(samples.get('bestnotify_worker_delivered_total{source="acme-pay-test"}')).toBe(0);
  expect(samples.get('bestnotify_outbox_dead{source="acme-pay-test"}')).toBe(0);
  const of = (label: string) => [label, 'source="acme-pay"', 'to="merchant-42"'].filter(Boolean).sort().join();
  expect(samples.get(`bestnotify_receiver_requests_total{${of('reason="handled"')}}`)).toBe(1);
  server.close();
});

test('a receiver shows requests by reason and how long its handlers ran', async () => {
  await using day = await openBusyDay();
  const page = receiverMetrics(day.receiver);
  const before = samplesOf(await page.text());
  await day.work();
  const samples = samplesOf(await page.text());
  const of = (label: string) => [label, 'source="acme-pay"', 'to="merchant-42"'].filter(Boolean).sort().join();
  expect(before.get(`bestnotify_receiver_requests_total{${of('reason="handled"')}}`)).toBe(0);
  expect(before.has(`bestnotify_receiver_last_accepted_timestamp_seconds{${of('')}}`)).toBe(false);
  expect(samples.get(`bestnotify_receiver_requests_total{${of('reason="handled"')}}`)).toBe(1);
  expect(samples.get(`bestnotify_receiver_requests_total{${of('reason="handler-error"')}}`)).toBe(1);
  expect(samples.get(`bestnotify_receiver_requests_total{${of('reason="invalid-signature"')}}`)).toBe(1);
  expect(samples.get(`bestnotify_receiver_signature_refusals_total{${of('reason="no-match"')}}`)).toBe(1);
  expect(samples.get(`bestnotify_receiver_handler_duration_seconds_count{${of('outcome="done"')}}`)).toBe(1);
  expect(samples.get(`bestnotify_receiver_handler_duration_seconds_count{${of('outcome="failed"')}}`)).toBe(1);
  expect(samples.get(`bestnotify_receiver_running{${of('')}}`)).toBe(0);
  expect(samples.get(`bestnotify_receiver_last_accepted_timestamp_seconds{${of('')}}`)).toBeGreaterThan(1.7e9);
});

/** What the specification "Prometheus and OpenTelemetry compatibility" makes of meters: the names, units and labels of Prometheus. */
function translated({ scopeMetrics }: ResourceMetrics): Map<string, number> {
  const samples = new Map<string, number>();
  for (const { descriptor, dataPoints, dataPointType, isMonotonic } of scopeMetrics.flatMap(
    (scope) => scope.metrics as Metric[],
  )) {
    const unit = descriptor.unit === 's' ? '_seconds' : '';
    const name = `${descriptor.name.replaceAll('.', '_')}${unit}${isMonotonic === true ? '_total' : ''}`;
    for (const { attributes, value } of dataPoints) {
      const labels = Object.entries(attributes)
        .map(([label, text]) => `${label}="${String(text)}"`)
        .join();
      if (dataPointType === DataPointType.HISTOGRAM)
        samples.set(sample(`${name}_count`, labels), (value as Histogram).count);
      else samples.set(sample(name, labels), value as number);
    }
  }
  return samples;
}

interface Metric {
  descriptor: { name: string; unit: string };
  dataPointType: DataPointType;
  isMonotonic?: boolean;
  dataPoints: { attributes: Attributes; value: unknown }[];
}

test('OpenTelemetry meters give the same numbers under the same names', async () => {
  const reader = new PeriodicExportingMetricReader({
    exporter: new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE),
    exportIntervalMillis: 60 * 60_000,
  });
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
  try {
    await using day = await openBusyDay();
    const registry = new Registry();
    const page = prometheusMetrics(day.outbox.sender, { registry });
    receiverMetrics(day.receiver, { registry });
    await day.work();
    const { resourceMetrics, errors } = await reader.collect();
    expect(errors).toEqual([]);
    const ours = new Map([...samplesOf(await page.text())].filter(([name]) => !/_(bucket|sum)\{/.test(name)));
    const byName = (samples: Map<string, number>) => [...samples].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(ours.size).toBeGreaterThan(40);
    expect(byName(translated(resourceMetrics))).toEqual(byName(ours));
  } finally {
    metrics.disable();
    await reader.shutdown();
  }
});
