import { Button, Checkbox, Group, Modal, NumberInput, Progress, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProgressShape } from '../../../src/shapes.js';
import { post, postLines } from '../api-client.ts';
import { formatCount } from '../format.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { RefusalText } from './action-dialog.tsx';

interface Props {
  isOpen: boolean;
  scope: 'selected' | 'all';
  filter: object;
  onClose: () => void;
}

/** Resends many: first a dry run that says how many, then the real one with its progress. */
export function BulkResend(props: Props) {
  const { t } = useTexts();
  return (
    <Modal
      opened={props.isOpen}
      onClose={props.onClose}
      title={t.dead.dryRunTitle}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      {props.isOpen && <Steps {...props} />}
    </Modal>
  );
}

function Steps({ scope, filter: given, onClose }: Props) {
  const { t, language } = useTexts();
  const client = useQueryClient();
  const [filter] = useState(given); // what was counted is what is sent, whatever the list behind does meanwhile
  const [perSecond, setPerSecond] = useState<string | number>(50);
  const [isAccepted, setAccepted] = useState(false);
  const [note, setNote] = useState('');
  const [progress, setProgress] = useState<ProgressShape | null>(null);
  const body = {
    filter,
    perSecond: Number(perSecond),
    acceptDuplicateEffect: isAccepted,
    ...(note.trim() !== '' && { note: note.trim() }),
  };
  const dryRun = useMutation({ mutationFn: () => post<ProgressShape>('bulk-resend', { ...body, dryRun: true }) });
  const run = useMutation({
    mutationFn: () => postLines('bulk-resend', body, setProgress),
    onSettled: () => client.invalidateQueries(),
  });
  const count = (value: number) => formatCount(value, language);
  const matched = dryRun.data?.matched;
  const error = dryRun.error ?? run.error;
  return (
    <Stack gap="sm">
      <Text size="sm" fw={500}>
        {t.dead.scope[scope]}
      </Text>
      {matched === undefined && <Text size="sm">{t.dead.dryRunText}</Text>}
      {matched !== undefined && !run.isPending && !run.isSuccess && (
        <>
          <Text size="sm" role="status">
            {t.dead.wouldResend(count(matched))}
          </Text>
          <NumberInput
            label={t.dead.perSecond}
            description={t.dead.perSecondHint}
            min={1}
            max={10_000}
            value={perSecond}
            onChange={setPerSecond}
          />
          <TextInput
            label={t.common.noteLabel}
            placeholder={t.common.noteHint}
            value={note}
            maxLength={500}
            onChange={(event) => setNote(event.currentTarget.value)}
          />
          <Checkbox
            label={t.notification.acceptDuplicate}
            checked={isAccepted}
            onChange={(event) => setAccepted(event.currentTarget.checked)}
          />
        </>
      )}
      {(run.isPending || run.isSuccess) && (
        <div role="status">
          <Progress
            value={
              (100 * ((progress?.resent ?? 0) + (progress?.skipped ?? 0))) /
              Math.max(1, progress?.matched ?? matched ?? 1)
            }
            aria-label={t.dead.dryRunTitle}
            mb={6}
          />
          <Text size="sm">
            {t.dead.progress(count(progress?.resent ?? 0), count(progress?.matched ?? matched ?? 0))}
            {progress !== null && progress.skipped > 0 && ` · ${t.dead.skipped(count(progress.skipped))}`}
            {run.isSuccess && ` · ${t.dead.finished}`}
          </Text>
          {progress !== null && progress.skipped > 0 && (
            <Text size="xs" c="dimmed">
              {t.dead.skippedHint}
            </Text>
          )}
        </div>
      )}
      {error !== null && <RefusalText error={error} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          {run.isPending || run.isSuccess ? t.common.close : t.common.cancel}
        </Button>
        {matched === undefined && (
          <Button loading={dryRun.isPending} onClick={() => dryRun.mutate()} data-autofocus>
            {t.dead.dryRun}
          </Button>
        )}
        {matched !== undefined && !run.isSuccess && (
          <Button
            loading={run.isPending} // closing the dialog meanwhile stops nothing
            disabled={matched === 0 || Number(perSecond) < 1}
            onClick={() => run.mutate()}
          >
            {t.dead.start(count(matched))}
          </Button>
        )}
      </Group>
    </Stack>
  );
}
