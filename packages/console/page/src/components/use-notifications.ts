import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { PageShape, SummaryShape } from '../../../src/shapes.js';
import { get } from '../api-client.ts';
import { useLive } from '../use-live.tsx';

/** How many empty pages are asked for by themselves before a person decides whether to look further back. */
const emptyPagesAtOnce = 10;
/** A list that somebody has read far down is not read anew every few seconds. */
const livePages = 3;

/** A list of notifications, page by page. */
export function useNotifications(filter: Readonly<Record<string, string | undefined>>) {
  const { refetchInterval } = useLive();
  const query = useInfiniteQuery({
    queryKey: ['notifications', filter],
    queryFn: ({ pageParam, signal }) =>
      get<PageShape<SummaryShape>>('notifications', { ...filter, after: pageParam, limit: 50 }, signal),
    initialPageParam: '',
    placeholderData: keepPreviousData, // the old list stays while a filter is typed
    getNextPageParam: (page) => page.next,
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= livePages ? refetchInterval : false),
  });
  const pages = query.data?.pages ?? [];
  const items = pages.flatMap((page) => page.items);
  const isSearchingOn = items.length === 0 && query.hasNextPage && pages.length < emptyPagesAtOnce;
  useEffect(() => {
    if (isSearchingOn && !query.isFetching) void query.fetchNextPage();
  }, [isSearchingOn, query.isFetching]);
  return { ...query, items, isSearchingOn };
}
