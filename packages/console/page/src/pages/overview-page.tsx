import { Anchor, Paper, SegmentedControl, SimpleGrid, Skeleton, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { EndpointShape, MinuteShape, OverviewShape, PageShape, SummaryShape } from '../../../src/shapes.js';
import { get } from '../api-client.ts';
import { AttemptsChart, LatencyChart } from '../components/activity-chart.tsx';
import { HealthMark, isUnwell } from '../components/health-mark.tsx';
import { Problem } from '../components/problem.tsx';
import { Mark, PageHeader, Reason, When } from '../components/small-parts.tsx';
import { formatCapped, formatDuration } from '../format.ts';
import { hrefOf } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useLive } from '../use-live.tsx';

const countLimit = 10_000;
const recentMinutes = 5;

/** Is anything wrong right now, and since when? */
export function OverviewPage() {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const [minutes, setMinutes] = useState('60');
  const { data, error, refetch } = useQuery({
    queryKey: ['overview', minutes],
    queryFn: ({ signal }) => get<OverviewShape>('overview', { minutes, today: startOfToday() }, signal),
    placeholderData: keepPreviousData,
    refetchInterval,
  });
  return (
    <>
      <PageHeader title={t.overview.title}>
        <SegmentedControl
          aria-label={t.overview.window}
          value={minutes}
          onChange={setMinutes}
          data={[15, 60, 180].map((count) => ({ value: String(count), label: t.overview.minutes(count) }))}
        />
      </PageHeader>
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {data === undefined ? (
        <Skeleton h={320} aria-label={t.common.loading} />
      ) : (
        <>
          <Figures overview={data} />
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm" mt="sm">
            <AttemptsChart minutes={data.minutes} />
            <LatencyChart minutes={data.minutes} />
          </SimpleGrid>
          {data.minutes.some((minute) => minute.isCapped) && (
            <Text size="xs" c="dimmed" mt={4}>
              {t.overview.sampled}
            </Text>
          )}
        </>
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="sm" mt="sm">
        <LatestDead />
        <UnwellEndpoints />
      </SimpleGrid>
    </>
  );
}

function Figures({ overview: { stats, minutes } }: { overview: OverviewShape }) {
  const { t, language } = useTexts();
  const count = (value: number) => formatCapped(value, countLimit, { t, language });
  const recent = minutes.slice(-1 - recentMinutes, -1); // this minute is not over yet
  const latency = lastWithAttempts(minutes);
  const duration = (ms: number | null | undefined) => (ms === null || ms === undefined ? '–' : formatDuration(ms, t));
  return (
    <dl className="figures">
      <Figure
        name={t.overview.due}
        value={count(stats.due)}
        hint={t.overview.dueHint(count(stats.inFlight))}
        href={hrefOf(['notifications'], { state: 'pending' })}
      />
      <Figure
        name={t.overview.oldest}
        value={stats.due === 0 ? '–' : formatDuration(stats.oldestDueMs, t)}
        hint={t.overview.oldestHint}
        tone={stats.oldestDueMs > 60_000 && stats.due > 0 ? 'dead' : undefined}
      />
      <Figure
        name={t.overview.delivered}
        value={meanOf(recent, 'delivered')}
        hint={t.overview.lastMinutes(recentMinutes)}
      />
      <Figure name={t.overview.failed} value={meanOf(recent, 'failed')} hint={t.overview.lastMinutes(recentMinutes)} />
      <Figure
        name={t.overview.latency}
        value={duration(latency?.p95Ms)}
        hint={t.overview.latencyHint(duration(latency?.p50Ms), duration(latency?.p99Ms))}
      />
      <Figure
        name={t.overview.dead}
        value={count(stats.diedSince)}
        hint={t.overview.deadHint(count(stats.dead))}
        tone={stats.diedSince > 0 ? 'dead' : undefined}
        href={hrefOf(['dead-letters'])}
      />
      <Figure
        name={t.overview.parked}
        value={count(stats.parkedEndpoints)}
        hint={t.overview.parkedHint(count(stats.heldEndpoints))}
        tone={stats.parkedEndpoints > 0 ? 'dead' : undefined}
        href={hrefOf(['endpoints'])}
      />
    </dl>
  );
}

function Figure(props: { name: string; value: string; hint: string; tone?: string | undefined; href?: string }) {
  const { name, value, hint, tone, href } = props;
  return (
    <div className="figure">
      <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
      <dd className="figure-value" data-tone={tone}>
        {value}
      </dd>
      <dd className="figure-hint">{hint}</dd>
    </div>
  );
}

function LatestDead() {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const { data } = useQuery({
    queryKey: ['notifications', 'latest-dead'],
    queryFn: ({ signal }) => get<PageShape<SummaryShape>>('notifications', { state: 'dead', limit: 6 }, signal),
    refetchInterval,
  });
  return (
    <Panel title={t.overview.latestDead} more={hrefOf(['dead-letters'])}>
      {data?.items.length === 0 && (
        <Text size="sm" c="dimmed">
          {t.overview.noDead}
        </Text>
      )}
      {data?.items.map((item) => (
        <a className="panel-row" href={hrefOf(['notifications', item.id])} key={item.id}>
          <span className="mono">{item.bizId}</span>
          <span>{item.endpoint}</span>
          <span className="grow">
            <Reason reason={item.reason} />
          </span>
          <When at={item.settledAt} />
        </a>
      ))}
    </Panel>
  );
}

function UnwellEndpoints() {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const { data } = useQuery({
    queryKey: ['endpoints', 'unwell'],
    queryFn: ({ signal }) => get<PageShape<EndpointShape>>('endpoints', { limit: 200 }, signal),
    refetchInterval: refetchInterval === false ? false : 15_000,
  });
  const unwell = data?.items.filter(isUnwell).slice(0, 6);
  return (
    <Panel title={t.overview.unwell} more={hrefOf(['endpoints'])}>
      {unwell?.length === 0 && (
        <Text size="sm">
          <Mark tone="delivered">{t.overview.allWell}</Mark>
        </Text>
      )}
      {unwell?.map((endpoint) => (
        <a className="panel-row" href={hrefOf(['endpoints'], { endpoint: endpoint.id })} key={endpoint.id}>
          <span className="grow">{endpoint.id}</span>
          <HealthMark endpoint={endpoint} />
        </a>
      ))}
    </Panel>
  );
}

function Panel({ title, more, children }: { title: string; more: string; children: React.ReactNode }) {
  const { t } = useTexts();
  return (
    <Paper withBorder p="sm" component="section" aria-label={title}>
      <div className="chart-head">
        <Text size="sm" fw={500} component="h2">
          {title}
        </Text>
        <Anchor size="xs" href={more} aria-label={`${t.common.all}: ${title}`}>
          {t.common.all}
        </Anchor>
      </div>
      {children}
    </Paper>
  );
}

function meanOf(minutes: readonly MinuteShape[], member: 'delivered' | 'failed'): string {
  const mean = minutes.reduce((sum, minute) => sum + minute[member], 0) / Math.max(1, minutes.length);
  return mean >= 10 || mean === 0 ? String(Math.round(mean)) : mean.toFixed(1);
}

function lastWithAttempts(minutes: readonly MinuteShape[]): MinuteShape | undefined {
  return minutes.findLast((minute) => minute.p95Ms !== null);
}

function startOfToday(): string {
  const today = new Date();
  today.setHours(0, 0, 0, 0);
  return today.toISOString();
}
