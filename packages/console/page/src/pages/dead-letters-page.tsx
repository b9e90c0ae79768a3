import { Button, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { BulkResend } from '../components/bulk-resend.tsx';
import { CloseMany } from '../components/close-many.tsx';
import { Filters, filterOfQuery } from '../components/filters.tsx';
import { NotificationList } from '../components/notification-list.tsx';
import { PageHeader } from '../components/small-parts.tsx';
import { UnfinishedRuns } from '../components/unfinished-runs.tsx';
import { useNotifications } from '../components/use-notifications.ts';
import { usePlace } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useSession } from '../use-session.tsx';

/** What was given up, and how to make it good. */
export function DeadLettersPage() {
  const { t } = useTexts();
  const { canAct } = useSession();
  const { query } = usePlace();
  const { q: _, ...filter } = filterOfQuery(query);
  const notifications = useNotifications({ ...filter, state: 'dead' });
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [dialog, setDialog] = useState<'selected' | 'all' | 'close' | null>(null);
  const { items } = notifications;
  const ids = items.filter((item) => chosen.has(item.id)).map((item) => item.id); // what is gone from the list is gone from the choice
  const selection = {
    ids: new Set(ids),
    toggle: (id: string) => setChosen(new Set(chosen.has(id) ? ids.filter((each) => each !== id) : [...ids, id])),
    toggleAll: () => setChosen(new Set(ids.length === items.length ? [] : items.map((item) => item.id))),
  };
  return (
    <>
      <PageHeader title={t.dead.title}>
        {canAct && (
          <Group gap="xs">
            {ids.length > 0 && (
              <>
                <Text size="sm" role="status">
                  {t.dead.selected(ids.length)}
                </Text>
                <Button variant="default" onClick={() => setDialog('close')}>
                  {t.dead.closeSelected}
                </Button>
                <Button onClick={() => setDialog('selected')}>{t.dead.resendSelected}</Button>
              </>
            )}
            {ids.length === 0 && items.length > 0 && (
              <Button variant="default" onClick={() => setDialog('all')}>
                {t.dead.resendAll}
              </Button>
            )}
          </Group>
        )}
      </PageHeader>
      <Text size="sm" c="dimmed" mb="sm">
        {t.dead.intro}
      </Text>
      <UnfinishedRuns />
      <Filters isSearchable={false} hasState={false} />
      <NotificationList
        query={notifications}
        label={t.dead.title}
        empty={{ title: t.dead.empty, hint: t.dead.emptyHint }}
        {...(canAct && { selection })}
      />
      <BulkResend
        isOpen={dialog === 'selected' || dialog === 'all'}
        scope={dialog === 'selected' ? 'selected' : 'all'}
        filter={dialog === 'selected' ? { state: 'dead', ids } : { ...filter, state: 'dead' }}
        onClose={() => setDialog(null)}
      />
      <CloseMany isOpen={dialog === 'close'} ids={ids} onClose={() => setDialog(null)} />
    </>
  );
}
