import { Anchor, Button, Center, Skeleton, Table, TextInput, VisuallyHidden } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { EndpointShape, PageShape } from '../../../src/shapes.js';
import { ApiRefusal, get } from '../api-client.ts';
import { EndpointActions } from '../components/endpoint-actions.tsx';
import { HealthMark } from '../components/health-mark.tsx';
import { Problem } from '../components/problem.tsx';
import { Empty, PageHeader, When } from '../components/small-parts.tsx';
import { formatCapped, formatDuration, formatShare } from '../format.ts';
import { hrefOf, usePlace, useQueryChange } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useLive } from '../use-live.tsx';

const countLimit = 1_000;

/** Who can be reached, who cannot, and what can be done about it. */
export function EndpointsPage() {
  const { t } = useTexts();
  const { query } = usePlace();
  const { endpoint } = query;
  return (
    <>
      <PageHeader title={t.endpoints.title}>
        <Finder />
      </PageHeader>
      {endpoint === undefined || endpoint === '' ? <All /> : <One key={endpoint} id={endpoint} />}
    </>
  );
}

/** One endpoint by its whole id: there may be tens of thousands. */
function Finder() {
  const { t } = useTexts();
  const { query } = usePlace();
  const change = useQueryChange();
  const [text, setText] = useState(query['endpoint'] ?? '');
  return (
    <form
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        change({ endpoint: text.trim() });
      }}
    >
      <TextInput
        type="search"
        aria-label={t.notifications.endpoint}
        placeholder={t.notifications.endpoint}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          if (event.currentTarget.value === '') change({ endpoint: undefined });
        }}
      />
    </form>
  );
}

function All() {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const query = useInfiniteQuery({
    queryKey: ['endpoints'],
    queryFn: ({ pageParam, signal }) =>
      get<PageShape<EndpointShape>>('endpoints', { after: pageParam, limit: 50 }, signal),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
    refetchInterval,
  });
  const items = query.data?.pages.flatMap((page) => page.items);
  if (query.error !== null) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  if (items === undefined) return <Skeleton h={240} aria-label={t.common.loading} />;
  if (items.length === 0) return <Empty title={t.endpoints.empty} />;
  return (
    <>
      <EndpointTable items={items} />
      {query.hasNextPage && (
        <Center mt="sm">
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {t.common.more}
          </Button>
        </Center>
      )}
    </>
  );
}

function One({ id }: { id: string }) {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const { data, error } = useQuery({
    queryKey: ['endpoints', id],
    queryFn: ({ signal }) => get<EndpointShape>(`endpoints/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval,
  });
  if (error instanceof ApiRefusal && error.status === 404) return <Empty title={error.message} />;
  if (error !== null) return <Problem error={error} />;
  return data === undefined ? <Skeleton h={120} aria-label={t.common.loading} /> : <EndpointTable items={[data]} />;
}

function EndpointTable({ items }: { items: readonly EndpointShape[] }) {
  const { t, language } = useTexts();
  const count = (value: number) => formatCapped(value, countLimit, { t, language });
  return (
    <Table className="rows" aria-label={t.endpoints.title} role="table">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.notifications.endpoint}</Table.Th>
          <Table.Th>{t.endpoints.health}</Table.Th>
          <Table.Th className="number">{t.endpoints.inFlight}</Table.Th>
          <Table.Th className="number">{t.endpoints.due}</Table.Th>
          <Table.Th className="number">{t.endpoints.pending}</Table.Th>
          <Table.Th className="number">{t.endpoints.success}</Table.Th>
          <Table.Th className="number">{t.endpoints.latency}</Table.Th>
          <Table.Th>{t.endpoints.lastAttempt}</Table.Th>
          <Table.Th>{t.endpoints.secrets}</Table.Th>
          <Table.Th w={36}>
            <VisuallyHidden>{t.endpoints.actionsColumn}</VisuallyHidden>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {items.map((endpoint) => (
          <Table.Tr key={endpoint.id} data-endpoint={endpoint.id}>
            <Table.Td className="main-cell">
              <Anchor
                href={hrefOf(['notifications'], { endpoint: endpoint.id })}
                data-row-link
                title={t.endpoints.notifications}
              >
                <bdi>{endpoint.id}</bdi>
              </Anchor>
              <bdi className="meaning mono url" title={endpoint.url ?? undefined}>
                {endpoint.url ?? t.endpoints.perNotification}
              </bdi>
            </Table.Td>
            <Table.Td>
              <HealthMark endpoint={endpoint} />
            </Table.Td>
            <Table.Td className="number" data-label={t.endpoints.inFlight}>
              {count(endpoint.inFlight)}
              <Limits endpoint={endpoint} />
            </Table.Td>
            <Table.Td className="number" data-label={t.endpoints.due}>
              {count(endpoint.due)}
            </Table.Td>
            <Table.Td className="number" data-label={t.endpoints.pending}>
              {count(endpoint.pending)}
            </Table.Td>
            <Table.Td className="number" data-label={t.endpoints.success}>
              <span title={t.endpoints.successHint(endpoint.attempts)}>
                {formatShare(endpoint.acknowledged, endpoint.attempts)}
              </span>
            </Table.Td>
            <Table.Td className="number tight" data-label={t.endpoints.latency}>
              {endpoint.p50Ms === null || endpoint.p95Ms === null
                ? '–'
                : `${formatDuration(endpoint.p50Ms, t)} / ${formatDuration(endpoint.p95Ms, t)}`}
            </Table.Td>
            <Table.Td data-label={t.endpoints.lastAttempt}>
              <When at={endpoint.lastAttemptAt} />
            </Table.Td>
            <Table.Td className="tight" data-label={t.endpoints.secrets}>
              {endpoint.secrets.map((secret) => (
                <code key={secret.id} className="reason" title={secret.id}>
                  {secret.fingerprint}
                </code>
              ))}
            </Table.Td>
            <Table.Td className="row-actions">
              <EndpointActions endpoint={endpoint} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

function Limits({ endpoint }: { endpoint: EndpointShape }) {
  const { t } = useTexts();
  const { maxInFlight, maxInFlightEverywhere, maxPerSecond } = endpoint;
  const limits = [
    maxInFlight !== null && `≤ ${maxInFlight} ${t.endpoints.perWorker}`,
    maxInFlightEverywhere !== null && `≤ ${maxInFlightEverywhere} ${t.endpoints.everywhere}`,
    maxPerSecond !== null && `≤ ${maxPerSecond} ${t.endpoints.perSecond}`,
  ].filter((limit) => limit !== false);
  return limits.length === 0 ? null : <span className="meaning"> {limits.join(', ')}</span>;
}
