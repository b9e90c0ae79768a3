import { prometheusMetrics as receiverMetrics } from '@bestnotify/receiver/prometheus';
import { prometheusMetrics } from '@bestnotify/sender/prometheus';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Registry } from 'prom-client';
import { beforeAll, describe, expect, test } from 'vitest';
import { root } from '../scripts/bootstrap.mjs';
import { openBusyDay } from '../telemetry/busy-day.ts';
import { documents, codeBlocks } from './markdown.ts';
import { readPromql } from './promql.ts';

interface Dashboard {
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
  templating: { list: { name: string; definition?: string }[] };
}

const folder = path.join(root, 'docs/grafana');
const dashboards = readdirSync(folder).map((name) => {
  return { name, dashboard: JSON.parse(readFileSync(path.join(folder, name), 'utf8')) as Dashboard };
});

/** What Grafana fills in before it asks. */
const filled = (expression: string) => expression.replaceAll('$__rate_interval', '5m');

/** By series: the labels that it has; from a page of a worker that delivered, failed, gave up and parked something. */
const series = new Map<string, Set<string>>();

beforeAll(async () => {
  await using day = await openBusyDay();
  const registry = new Registry();
  const page = prometheusMetrics(day.outbox.sender, { registry });
  receiverMetrics(day.receiver, { registry });
  await day.work();
  for (const [, name = '', labels = ''] of (await page.text()).matchAll(/^([a-z]\w+)\{(.*)\} \S+$/gm)) {
    series.set(name, new Set([...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)));
  }
});

function expectKnown(expression: string): void {
  const { metrics, labels } = readPromql(filled(expression));
  expect(metrics.length, expression).toBeGreaterThan(0);
  for (const metric of metrics) {
    expect([...series.keys()], expression).toContain(metric);
    for (const label of labels) expect([...(series.get(metric) ?? [])], `${metric} in ${expression}`).toContain(label);
  }
}

describe.each(dashboards)('the dashboard $name', ({ dashboard }) => {
  test.each(dashboard.panels.filter(({ targets }) => targets !== undefined))(
    'asks for what there is: $title',
    ({ targets = [] }) => {
      for (const { expr } of targets) expectKnown(expr);
    },
  );

  test('fills its variables from what there is', () => {
    const definitions = dashboard.templating.list.flatMap(({ definition }) => definition ?? []);
    for (const definition of definitions) {
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? expect.fail(definition);
      expect([...(series.get(metric) ?? [])]).toContain(label);
    }
    expect(definitions).toHaveLength(1);
  });

  test('shows every metric, and no panel twice', () => {
    const asked = new Set(
      dashboard.panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => readPromql(filled(expr)).metrics)),
    );
    const isShown = (name: string) => asked.has(name) || /_(?:sum|count)$/.test(name);
    expect([...series.keys()].filter((name) => !isShown(name))).toEqual([]);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

const alerts = documents
  .filter(({ name }) => name.startsWith('docs/observability'))
  .flatMap((document) =>
    codeBlocks(document)
      .filter(({ info }) => info === 'yaml')
      .flatMap(({ code }) =>
        [...code.matchAll(/^ *expr: (.+)$/gm)].map(([, expr = '']) => ({ name: document.name, expr })),
      ),
  );

test.each(alerts)('the alert of $name asks for what there is: $expr', ({ expr }) => {
  expectKnown(expr);
});

test.each(['sum(rate(bestnotify_worker_sent_total[5m]))', 'sum by (merchant) (bestnotify_outbox_due)', 'sum(('])(
  'a query that asks for something else is found: %s',
  (expr) => {
    expect(() => expectKnown(expr)).toThrow();
  },
);
