import { Button, Checkbox, Group, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { DetailsShape } from '../../../src/shapes.js';
import { useTexts } from '../texts/use-texts.tsx';
import { useSession } from '../use-session.tsx';
import { ActionDialog, type Action } from './action-dialog.tsx';

type Kind = 'resend' | 'send-now' | 'cancel' | 'close';

/** What may be done with this one now. The server has the last word: it looks at the row as it is by then. */
export function NotificationActions({ details }: { details: DetailsShape }) {
  const { t } = useTexts();
  const { canAct } = useSession();
  const [open, setOpen] = useState<{ kind: Kind; seen: DetailsShape['state'] } | null>(null);
  const [url, setUrl] = useState('');
  const [isAccepted, setAccepted] = useState(false);
  if (!canAct) return null;
  const { state, id } = details;
  const show = (kind: Kind) => {
    setUrl('');
    setAccepted(false);
    setOpen({ kind, seen: state });
  };
  const actions: Record<Kind, Action<unknown>> = {
    resend: {
      title: t.notification.resendTitle,
      text: t.notification.resendText,
      button: t.notification.resend,
      done: t.notification.resent,
      path: `notifications/${id}/resend`,
      body: { seen: open?.seen, acceptDuplicateEffect: isAccepted, ...(url.trim() !== '' && { url: url.trim() }) },
      children: (
        <>
          {open?.seen === 'delivered' && <Text size="sm">{t.notification.resendDelivered}</Text>}
          {open?.seen === 'closed' && <Text size="sm">{t.notification.resendClosed}</Text>}
          <TextInput
            label={t.notification.correctedUrl}
            description={t.notification.correctedUrlHint}
            type="url"
            value={url}
            onChange={(event) => setUrl(event.currentTarget.value)}
          />
          <Checkbox
            label={t.notification.acceptDuplicate}
            checked={isAccepted}
            onChange={(event) => setAccepted(event.currentTarget.checked)}
          />
        </>
      ),
    },
    'send-now': {
      title: t.notification.sendNowTitle,
      text: t.notification.sendNowText,
      button: t.notification.sendNow,
      done: t.notification.hurried,
      path: `notifications/${id}/send-now`,
    },
    cancel: {
      title: t.notification.cancelTitle,
      text: t.notification.cancelText,
      button: t.notification.cancelIt,
      isDangerous: true,
      done: t.notification.cancelled,
      path: `notifications/${id}/cancel`,
    },
    close: {
      title: t.notification.closeTitle,
      text: t.notification.closeText,
      button: t.notification.closeIt,
      requiredNote: t.notification.closeNote,
      done: t.notification.closed,
      path: `notifications/${id}/close`,
    },
  };
  return (
    <Group gap="xs">
      {state === 'pending' ? (
        <>
          <Button variant="default" disabled={details.isClaimed} onClick={() => show('cancel')}>
            {t.notification.cancelIt}
          </Button>
          <Button disabled={details.isClaimed} onClick={() => show('send-now')}>
            {t.notification.sendNow}
          </Button>
        </>
      ) : (
        <>
          {state === 'dead' && (
            <Button variant="default" onClick={() => show('close')}>
              {t.notification.closeIt}
            </Button>
          )}
          <Button variant={state === 'dead' ? 'filled' : 'default'} onClick={() => show('resend')}>
            {t.notification.resend}
          </Button>
        </>
      )}
      <ActionDialog action={open === null ? null : actions[open.kind]} onClose={() => setOpen(null)} />
    </Group>
  );
}
