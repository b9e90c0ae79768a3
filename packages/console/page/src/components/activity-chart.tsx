import { Paper, Text, VisuallyHidden } from '@mantine/core';
import { Area, AreaChart, Bar, BarChart, CartesianGrid, Tooltip, XAxis, YAxis, ResponsiveContainer } from 'recharts';
import type { MinuteShape } from '../../../src/shapes.js';
import { useTexts } from '../texts/use-texts.tsx';

const axis = { stroke: 'var(--chart-axis)', fontSize: 11, tickLine: false, axisLine: false } as const;
const tooltip = {
  contentStyle: {
    background: 'var(--mantine-color-body)',
    border: '1px solid var(--line)',
    borderRadius: 6,
    fontSize: 12,
    padding: '6px 10px',
  },
  itemStyle: { color: 'var(--mantine-color-text)', padding: 0 },
  labelStyle: { color: 'var(--mantine-color-dimmed)' },
  isAnimationActive: false,
} as const;

/** How many attempts each minute had, and how they went. */
export function AttemptsChart({ minutes }: { minutes: readonly MinuteShape[] }) {
  const { t, language } = useTexts();
  const data = minutes.map((minute) => ({ ...minute, time: timeOf(minute.at, language) }));
  return (
    <Chart
      title={t.overview.attempts}
      legend={[
        ['delivered', t.overview.deliveredSeries],
        ['failed', t.overview.failedSeries],
      ]}
      minutes={minutes}
    >
      <BarChart data={data} barCategoryGap={1} accessibilityLayer={false}>
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis dataKey="time" {...axis} minTickGap={40} height={20} />
        <YAxis {...axis} width={44} allowDecimals={false} />
        <Tooltip {...tooltip} cursor={{ fill: 'var(--chart-cursor)' }} />
        <Bar
          dataKey="delivered"
          name={t.overview.deliveredSeries}
          stackId="a"
          fill="var(--tone-delivered)"
          isAnimationActive={false}
        />
        <Bar
          dataKey="failed"
          name={t.overview.failedSeries}
          stackId="a"
          fill="var(--tone-dead)"
          isAnimationActive={false}
        />
      </BarChart>
    </Chart>
  );
}

/** How long attempts took: half of them, and the slow ones. */
export function LatencyChart({ minutes }: { minutes: readonly MinuteShape[] }) {
  const { t, language } = useTexts();
  const data = minutes.map((minute) => ({ ...minute, time: timeOf(minute.at, language) }));
  return (
    <Chart
      title={t.overview.durations}
      legend={[
        ['pending', 'p50'],
        ['closed', 'p95'],
      ]}
      minutes={minutes}
    >
      <AreaChart data={data} accessibilityLayer={false}>
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis dataKey="time" {...axis} minTickGap={40} height={20} />
        <YAxis {...axis} width={44} allowDecimals={false} />
        <Tooltip {...tooltip} />
        <Area
          type="monotone"
          dataKey="p95Ms"
          name="p95"
          stroke="var(--tone-closed)"
          fill="var(--tone-closed)"
          fillOpacity={0.12}
          connectNulls
          isAnimationActive={false}
        />
        <Area
          type="monotone"
          dataKey="p50Ms"
          name="p50"
          stroke="var(--tone-pending)"
          fill="var(--tone-pending)"
          fillOpacity={0.12}
          connectNulls
          isAnimationActive={false}
        />
      </AreaChart>
    </Chart>
  );
}

function Chart(props: {
  title: string;
  legend: readonly [string, string][];
  minutes: readonly MinuteShape[];
  children: React.ReactElement;
}) {
  const { title, legend, minutes, children } = props;
  const { t, language } = useTexts();
  return (
    <Paper withBorder p="sm" component="section" aria-label={title}>
      <div className="chart-head">
        <Text size="sm" fw={500} component="h2">
          {title}
        </Text>
        <span className="legend">
          {legend.map(([tone, label]) => (
            <span className="mark" data-tone={tone} key={label}>
              {label}
            </span>
          ))}
        </span>
      </div>
      <div aria-hidden="true">
        <ResponsiveContainer width="100%" height={180}>
          {children}
        </ResponsiveContainer>
      </div>
      <VisuallyHidden>
        <table>
          <caption>{`${title} (${t.overview.chartTable})`}</caption>
          <thead>
            <tr>
              {[t.audit.when, t.overview.deliveredSeries, t.overview.failedSeries, 'p50', 'p95'].map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {minutes
              .filter((minute) => minute.delivered + minute.failed > 0)
              .map((minute) => (
                <tr key={minute.at}>
                  <th scope="row">{timeOf(minute.at, language)}</th>
                  <td>{minute.delivered}</td>
                  <td>{minute.failed}</td>
                  <td>{minute.p50Ms}</td>
                  <td>{minute.p95Ms}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </Paper>
  );
}

function timeOf(at: string, language: string): string {
  return new Date(at).toLocaleTimeString(language, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
}
