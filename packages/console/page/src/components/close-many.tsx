import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiRefusal, post } from '../api-client.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { RefusalText } from './action-dialog.tsx';
import { useToast } from './use-toast.ts';

/** Closes the chosen dead letters with one note. One that has changed meanwhile is left alone and counted. */
export function CloseMany({ isOpen, ids, onClose }: { isOpen: boolean; ids: readonly string[]; onClose: () => void }) {
  const { t } = useTexts();
  const client = useQueryClient();
  const toast = useToast();
  const [note, setNote] = useState('');
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => closeEach(ids, note.trim()),
    onSuccess: ({ closed, changed }) => {
      const messages = [t.dead.closedDone(closed), ...(changed > 0 ? [t.dead.someFailed(changed)] : [])];
      toast(messages.join(' '));
      setNote('');
      onClose();
    },
    onSettled: () => client.invalidateQueries(),
  });
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={t.dead.closeTitle(ids.length)}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      <Stack gap="sm">
        <Text size="sm">{t.notification.closeText}</Text>
        <Textarea
          label={t.notification.closeNote}
          required
          autosize
          minRows={2}
          maxLength={500}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
          data-autofocus
        />
        {error !== null && <RefusalText error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button loading={isPending} disabled={note.trim() === ''} onClick={() => mutate()}>
            {t.dead.closeSelected}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

async function closeEach(ids: readonly string[], note: string): Promise<{ closed: number; changed: number }> {
  const counts = { closed: 0, changed: 0 };
  for (const id of ids) {
    try {
      await post(`notifications/${id}/close`, { note });
      counts.closed += 1;
    } catch (error) {
      if (!(error instanceof ApiRefusal && error.status === 409)) throw error;
      counts.changed += 1;
    }
  }
  return counts;
}
