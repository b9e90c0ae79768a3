import { Button, Group, Modal, Stack, Text, TextInput, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { ApiRefusal, post } from '../api-client.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useToast } from './use-toast.ts';

export interface Action<Result> {
  title: string;
  text: string;
  button: string;
  isDangerous?: boolean;
  /** Where it is posted, below the API. */
  path: string;
  body?: object;
  done?: string;
  /** A note that must be there, and what it is called; else it may be left out. */
  requiredNote?: string;
  /** More fields. */
  children?: ReactNode;
  isReady?: boolean;
  onDone?: (result: Result) => void;
}

/** Asks once more, takes a note for the audit, acts, and shows what the server said to it. */
export function ActionDialog<Result>({ action, onClose }: { action: Action<Result> | null; onClose: () => void }) {
  const { t } = useTexts();
  return (
    <Modal
      opened={action !== null}
      onClose={onClose}
      title={action?.title}
      closeButtonProps={{ 'aria-label': t.common.close }}
    >
      {action !== null && <Form action={action} onClose={onClose} />}
    </Modal>
  );
}

function Form<Result>({ action, onClose }: { action: Action<Result>; onClose: () => void }) {
  const { t } = useTexts();
  const client = useQueryClient();
  const toast = useToast();
  const [note, setNote] = useState('');
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => post<Result>(action.path, { ...action.body, ...(note.trim() !== '' && { note: note.trim() }) }),
    onSuccess: (result) => {
      if (action.done !== undefined) toast(action.done);
      onClose();
      action.onDone?.(result);
    },
    onSettled: () => client.invalidateQueries(), // a refusal means that what is shown is out of date
  });
  const isReady = action.isReady !== false && (action.requiredNote === undefined || note.trim() !== '');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) mutate();
      }}
    >
      <Stack gap="sm">
        <Text size="sm">{action.text}</Text>
        {action.children}
        {action.requiredNote === undefined ? (
          <TextInput
            label={t.common.noteLabel}
            placeholder={t.common.noteHint}
            value={note}
            maxLength={500}
            onChange={(event) => setNote(event.currentTarget.value)}
          />
        ) : (
          <Textarea
            label={action.requiredNote}
            required
            autosize
            minRows={2}
            value={note}
            maxLength={500}
            onChange={(event) => setNote(event.currentTarget.value)}
            data-autofocus
          />
        )}
        {error !== null && <RefusalText error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {t.common.cancel}
          </Button>
          <Button
            type="submit"
            color={action.isDangerous === true ? 'red.8' : 'pine'}
            loading={isPending}
            disabled={!isReady}
          >
            {action.button}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** The server decides by the row as it is now; when that differs from what was on the screen, it says so. */
export function RefusalText({ error }: { error: Error }) {
  const { t } = useTexts();
  const state = error instanceof ApiRefusal ? error.facts.state : undefined;
  return (
    <Text size="sm" role="alert" className="refusal">
      {state !== undefined && <strong>{t.notification.changed(t.states[state])} </strong>}
      {error.message}
    </Text>
  );
}
