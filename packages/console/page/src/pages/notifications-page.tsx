import { Text } from '@mantine/core';
import { Filters, filterOfQuery } from '../components/filters.tsx';
import { NotificationList } from '../components/notification-list.tsx';
import { PageHeader } from '../components/small-parts.tsx';
import { useNotifications } from '../components/use-notifications.ts';
import { usePlace } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';

export function NotificationsPage() {
  const { t } = useTexts();
  const { query } = usePlace();
  const notifications = useNotifications(filterOfQuery(query));
  return (
    <>
      <PageHeader title={t.notifications.title}>
        {query['state'] === 'pending' && (
          <Text size="xs" c="dimmed">
            {t.notifications.order}
          </Text>
        )}
      </PageHeader>
      <Filters isSearchable hasState />
      <NotificationList
        query={notifications}
        label={t.notifications.title}
        empty={{ title: t.notifications.empty, hint: t.notifications.emptyHint }}
      />
    </>
  );
}
