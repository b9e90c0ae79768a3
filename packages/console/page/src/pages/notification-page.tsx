import { Anchor, Group, Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { AuditShape, DetailsShape, PageShape } from '../../../src/shapes.js';
import { get } from '../api-client.ts';
import { AuditTable } from '../components/audit-table.tsx';
import { BodyView } from '../components/body-view.tsx';
import { NotificationActions } from '../components/notification-actions.tsx';
import { Problem } from '../components/problem.tsx';
import { Copyable, PageHeader, Reason, StateMark, When } from '../components/small-parts.tsx';
import { Timeline } from '../components/timeline.tsx';
import { formatMoment } from '../format.ts';
import { hrefOf } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useLive } from '../use-live.tsx';

/** Why does this merchant not know about this event, and what can be done about it? */
export function NotificationPage({ id }: { id: string }) {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const { data, error, refetch } = useQuery({
    queryKey: ['notification', id],
    queryFn: ({ signal }) => get<DetailsShape>(`notifications/${encodeURIComponent(id)}`, {}, signal),
    // What is on its way is watched more closely.
    refetchInterval: ({ state }) =>
      refetchInterval !== false && state.data?.state === 'pending' ? 2_000 : refetchInterval,
  });
  const back = (
    <Anchor href={hrefOf(['notifications'])} size="xs">
      ← {t.nav.notifications}
    </Anchor>
  );
  if (error !== null) {
    return (
      <Stack gap="sm">
        {back}
        <PageHeader title={t.notification.title} />
        <Problem error={error} onRetry={() => void refetch()} />
      </Stack>
    );
  }
  if (data === undefined) return <Skeleton h={320} aria-label={t.common.loading} />;
  return (
    <>
      {back}
      <PageHeader
        title={
          <Group gap="sm" component="span">
            <bdi className="mono">{data.bizId}</bdi>
            <StateMark state={data.state} isClaimed={data.isClaimed} />
          </Group>
        }
      >
        <NotificationActions details={data} />
      </PageHeader>
      <Stack gap="sm">
        <Facts details={data} />
        <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="sm" className="halves">
          <Timeline details={data} />
          <BodyView details={data} />
        </SimpleGrid>
        <History id={id} />
      </Stack>
    </>
  );
}

function Facts({ details }: { details: DetailsShape }) {
  const { t, language } = useTexts();
  const facts: [string, React.ReactNode][] = [
    [
      t.notifications.endpoint,
      <a href={hrefOf(['endpoints'], { endpoint: details.endpoint })}>
        <bdi>{details.endpoint}</bdi>
      </a>,
    ],
    [t.notifications.type, <bdi>{details.type}</bdi>],
    [
      t.notifications.subject,
      details.subject === null ? (
        '–'
      ) : (
        <a className="mono" href={hrefOf(['notifications'], { q: details.subject })}>
          <bdi>{details.subject}</bdi>
        </a>
      ),
    ],
    [
      'id',
      <Copyable text={details.id}>
        <span className="mono">{details.id}</span>
      </Copyable>,
    ],
    [
      t.notification.url,
      details.url === null ? (
        '–'
      ) : (
        <>
          <bdi className="mono">{details.url}</bdi>
          {details.isOwnUrl && <span className="meaning"> ({t.notification.ownUrl})</span>}
        </>
      ),
    ],
    [
      t.notification.created,
      <>
        {formatMoment(details.createdAt, language)}{' '}
        <span className="meaning">
          (<When at={details.createdAt} />)
        </span>
      </>,
    ],
    ...(details.settledAt === null
      ? []
      : [
          [
            t.notification.settled,
            <>
              {formatMoment(details.settledAt, language)}{' '}
              <span className="meaning">
                (<When at={details.settledAt} />)
              </span>
            </>,
          ] as [string, React.ReactNode],
        ]),
    [
      t.notifications.attempts,
      `${details.attempts}${details.maxAttempts === null ? '' : ` / ${details.maxAttempts}`}${details.round > 1 ? ` · ${t.notification.round(details.round)}` : ''}${details.lostClaims > 0 ? ` · ${t.notification.lostClaims} ${details.lostClaims}` : ''}`,
    ],
    [
      t.notification.policy,
      details.policy === null ? t.notification.defaultPolicy : <bdi className="mono">{details.policy}</bdi>,
    ],
  ];
  return (
    <Paper withBorder p="sm" component="section" aria-label={t.notification.facts}>
      {details.reason !== null && (
        <p className="why" data-tone={details.state}>
          <b>{t.notification.why}</b> <Reason reason={details.reason} />
        </p>
      )}
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Paper>
  );
}

function History({ id }: { id: string }) {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const { data } = useQuery({
    queryKey: ['audit', id],
    queryFn: ({ signal }) => get<PageShape<AuditShape>>('audit', { notification: id, limit: 50 }, signal),
    refetchInterval,
  });
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Paper withBorder p="sm" component="section" aria-label={t.notification.history}>
      <Text size="sm" fw={500} component="h2" mb="xs">
        {t.notification.history}
      </Text>
      <AuditTable items={data.items} label={t.notification.history} />
    </Paper>
  );
}
