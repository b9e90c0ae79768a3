import { Button, Center, Skeleton } from '@mantine/core';
import { useTexts } from '../texts/use-texts.tsx';
import { NotificationTable, type Selection } from './notification-table.tsx';
import { Problem } from './problem.tsx';
import { Empty } from './small-parts.tsx';
import type { useNotifications } from './use-notifications.ts';

/** A list with everything that can be said about it: that it loads, that it failed, that it is empty, that there is more. */
export function NotificationList(props: {
  query: ReturnType<typeof useNotifications>;
  label: string;
  empty: { title: string; hint: string };
  selection?: Selection;
}) {
  const { query, label, empty, selection } = props;
  const { t } = useTexts();
  const { items } = query;
  if (query.error !== null) return <Problem error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data === undefined || query.isSearchingOn)
    return <Skeleton h={240} aria-label={t.common.loading} role="status" />;
  return (
    <>
      {items.length > 0 && (
        <NotificationTable items={items} label={label} {...(selection !== undefined && { selection })} />
      )}
      {items.length === 0 && (query.hasNextPage ? <Empty title={t.notifications.partial} /> : <Empty {...empty} />)}
      {query.hasNextPage && (
        <Center mt="sm">
          <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {items.length === 0 ? t.common.searchOn : t.common.more}
          </Button>
        </Center>
      )}
    </>
  );
}
