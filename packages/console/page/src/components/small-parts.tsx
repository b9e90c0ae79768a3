import { Button, CopyButton, Group, Stack, Text, Title, Tooltip, UnstyledButton } from '@mantine/core';
import { Fragment, type ReactNode } from 'react';
import type { State } from '../../../src/shapes.js';
import { formatDistance, formatMoment } from '../format.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useNow } from '../use-live.tsx';

/** A dot and a word: the colour alone says nothing that the word does not. */
export function StateMark({ state, isClaimed = false }: { state: State; isClaimed?: boolean }) {
  const { t } = useTexts();
  const shown = isClaimed ? 'sending' : state;
  return <Mark tone={shown}>{t.states[shown]}</Mark>;
}

export function Mark({ tone, children }: { tone: string; children: ReactNode }) {
  return (
    <span className="mark" data-tone={tone}>
      {children}
    </span>
  );
}

/** How long ago or how soon; the exact moment is in the tooltip. */
export function When({ at }: { at: string | null }) {
  const { t, language } = useTexts();
  const nowMs = useNow();
  if (at === null) return <>–</>;
  return (
    <time dateTime={at} title={formatMoment(at, language)}>
      {formatDistance(at, nowMs, t)}
    </time>
  );
}

export function PageHeader({ title, children }: { title: ReactNode; children?: ReactNode }) {
  return (
    <Group justify="space-between" mb="sm" gap="sm">
      <Title order={1} className="page-title">
        {title}
      </Title>
      {children}
    </Group>
  );
}

export function Empty({ title, hint }: { title: string; hint?: string }) {
  return (
    <Stack align="center" gap={4} py={48} role="status">
      <Text size="sm" fw={500}>
        {title}
      </Text>
      {hint !== undefined && (
        <Text size="sm" c="dimmed" ta="center">
          {hint}
        </Text>
      )}
    </Stack>
  );
}

/** An identifier that is broken after its dots and dashes, where it has to be; one with long parts anywhere. */
export function Segments({ text }: { text: string }) {
  const parts = text.split(/(?<=[._:-])/);
  return (
    <bdi className={parts.every((part) => part.length <= 20) ? 'segments' : undefined}>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}

/** A text that can be copied by pressing on it. */
export function Copyable({ text, children }: { text: string; children?: ReactNode }) {
  const { t } = useTexts();
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? t.common.copied : t.common.copy}>
          <UnstyledButton className="copyable" onClick={copy} aria-label={`${t.common.copy}: ${text}`}>
            {children ?? text}
          </UnstyledButton>
        </Tooltip>
      )}
    </CopyButton>
  );
}

export function CopyAll({ text }: { text: string }) {
  const { t } = useTexts();
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy}>
          {copied ? t.common.copied : t.common.copy}
        </Button>
      )}
    </CopyButton>
  );
}

/** The word for a reason, and under it what it means. Anything unknown is shown as it came, as text. */
export function Reason({ reason, isBrief = false }: { reason: string | null; isBrief?: boolean }) {
  const { t } = useTexts();
  if (reason === null) return <>–</>;
  const meaning = Object.hasOwn(t.reasons, reason) ? t.reasons[reason] : undefined;
  return (
    <span title={isBrief ? meaning : undefined}>
      <code className="reason">{reason}</code>
      {meaning !== undefined && !isBrief && <span className="meaning"> {meaning}</span>}
    </span>
  );
}
