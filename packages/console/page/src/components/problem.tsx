import { Alert, Button, Group, Text } from '@mantine/core';
import { useTexts } from '../texts/use-texts.tsx';

/** What went wrong, in the server's own words. */
export function Problem({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  const { t } = useTexts();
  return (
    <Alert color="red" variant="outline" title={t.common.failed} role="alert">
      <Group gap="sm" justify="space-between">
        <Text size="sm">{error.message}</Text>
        {onRetry !== undefined && (
          <Button variant="default" onClick={onRetry}>
            {t.common.retry}
          </Button>
        )}
      </Group>
    </Alert>
  );
}
