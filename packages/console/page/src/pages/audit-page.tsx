import { Button, Center, Skeleton } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { AuditShape, PageShape } from '../../../src/shapes.js';
import { get } from '../api-client.ts';
import { AuditTable } from '../components/audit-table.tsx';
import { Problem } from '../components/problem.tsx';
import { Empty, PageHeader } from '../components/small-parts.tsx';
import { useTexts } from '../texts/use-texts.tsx';
import { useLive } from '../use-live.tsx';

export function AuditPage() {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const query = useInfiniteQuery({
    queryKey: ['audit'],
    queryFn: ({ pageParam, signal }) => get<PageShape<AuditShape>>('audit', { after: pageParam, limit: 50 }, signal),
    initialPageParam: '',
    getNextPageParam: (page) => page.next,
    refetchInterval,
  });
  const items = query.data?.pages.flatMap((page) => page.items);
  return (
    <>
      <PageHeader title={t.audit.title} />
      {query.error !== null && <Problem error={query.error} onRetry={() => void query.refetch()} />}
      {items === undefined && query.error === null && <Skeleton h={200} aria-label={t.common.loading} />}
      {items?.length === 0 && <Empty title={t.audit.empty} />}
      {items !== undefined && items.length > 0 && <AuditTable items={items} label={t.audit.title} />}
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
