import { Group, Paper, SegmentedControl, Text } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { DetailsShape } from '../../../src/shapes.js';
import { addressOf } from '../api-client.ts';
import { bytesOf, hexDump, prettyJson, textOf, visibleText } from '../bytes.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useSession } from '../use-session.tsx';
import { CopyAll } from './small-parts.tsx';

/** The body as it was sent: readable, as text, byte by byte, or to keep; and how to send it by hand. */
export function BodyView({ details }: { details: DetailsShape }) {
  const { t, language } = useTexts();
  const { role } = useSession();
  const [view, setView] = useState('pretty');
  const bytes = useMemo(() => bytesOf(details.bodyBase64 ?? ''), [details.bodyBase64]);
  const text = useMemo(() => textOf(bytes), [bytes]);
  const pretty = useMemo(() => prettyJson(text), [text]);
  const shown = {
    pretty: pretty === undefined ? visibleText(text) : visibleText(pretty),
    text: visibleText(text),
    bytes: view === 'bytes' ? hexDump(bytes) : '',
    curl: details.curl ?? '',
  }[view];
  if (role === 'viewer' || details.isErased) {
    return (
      <Paper withBorder p="sm" component="section" aria-label={t.notification.body}>
        <Text size="sm" c="dimmed">
          {details.isErased ? t.notification.erased : t.notification.bodyHidden}
        </Text>
      </Paper>
    );
  }
  return (
    <Paper withBorder p="sm" component="section" aria-label={t.notification.body}>
      <Group justify="space-between" gap="xs" mb="xs">
        <Group gap="sm">
          <Text size="sm" fw={500} component="h2">
            {t.notification.body}
          </Text>
          <SegmentedControl
            aria-label={t.notification.body}
            value={view}
            onChange={setView}
            data={[
              { value: 'pretty', label: t.notification.pretty },
              { value: 'text', label: t.notification.text },
              { value: 'bytes', label: t.notification.bytes },
              ...(details.curl === null ? [] : [{ value: 'curl', label: t.notification.curl }]),
            ]}
          />
        </Group>
        <Group gap="xs">
          <Text size="xs" c="dimmed">
            {new Intl.NumberFormat(language).format(details.bodyBytes ?? 0)} B · {details.contentType}
            {pretty === undefined && ` · ${t.notification.notJson}`}
          </Text>
          <CopyAll
            text={view === 'curl' ? (details.curl ?? '') : pretty !== undefined && view === 'pretty' ? pretty : text}
          />
          <a className="button-link" href={addressOf(`notifications/${details.id}/body`)} download>
            {t.common.download}
          </a>
        </Group>
      </Group>
      {view === 'curl' && (
        <Text size="xs" c="dimmed" mb="xs">
          {t.notification.curlHint}
        </Text>
      )}
      <pre className="code" tabIndex={0} aria-label={t.notification.body}>
        {shown}
      </pre>
    </Paper>
  );
}
