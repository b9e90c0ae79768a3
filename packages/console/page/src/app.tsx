import { Button, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiRefusal, getSession } from './api-client.ts';
import { Problem } from './components/problem.tsx';
import { Shell } from './components/shell.tsx';
import { usePlace } from './location.ts';
import { AuditPage } from './pages/audit-page.tsx';
import { DeadLettersPage } from './pages/dead-letters-page.tsx';
import { EndpointsPage } from './pages/endpoints-page.tsx';
import { NotificationPage } from './pages/notification-page.tsx';
import { NotificationsPage } from './pages/notifications-page.tsx';
import { OverviewPage } from './pages/overview-page.tsx';
import { useTexts } from './texts/use-texts.tsx';
import { SessionContext } from './use-session.tsx';

export function App() {
  const { t } = useTexts();
  // Asked now and then: a session that has ended is noticed before somebody fills in a form.
  const { data, error, refetch } = useQuery({
    queryKey: ['session'],
    queryFn: getSession,
    refetchInterval: 60_000,
  });
  if (error instanceof ApiRefusal && error.status === 401) return <SignedOut />;
  if (data === undefined) {
    return (
      <Center h="60vh" role={error === null ? 'status' : undefined} aria-label={t.common.loading}>
        {error === null ? <Loader size="sm" /> : <Problem error={error} onRetry={() => void refetch()} />}
      </Center>
    );
  }
  return (
    <SessionContext value={data}>
      <Shell>
        <Page />
      </Shell>
    </SessionContext>
  );
}

function Page() {
  const { path } = usePlace();
  const [page = 'overview', id] = path;
  switch (page) {
    case 'notifications':
      return id === undefined ? <NotificationsPage /> : <NotificationPage key={id} id={id} />;
    case 'endpoints':
      return <EndpointsPage />;
    case 'dead-letters':
      return <DeadLettersPage />;
    case 'audit':
      return <AuditPage />;
    default:
      return <OverviewPage />;
  }
}

function SignedOut() {
  const { t } = useTexts();
  return (
    <Center component="main" h="60vh">
      <Stack align="center" gap="xs">
        <Title order={1} size="h4">
          {t.shell.signedOut}
        </Title>
        <Text size="sm">{t.shell.signedOutHint}</Text>
        <Button onClick={() => window.location.reload()}>{t.shell.reload}</Button>
      </Stack>
    </Center>
  );
}
