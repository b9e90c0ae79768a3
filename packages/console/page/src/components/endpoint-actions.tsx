import { Button, Code, Menu, Modal, NumberInput, Stack, Text, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import type { EndpointShape, RotatedShape } from '../../../src/shapes.js';
import { goTo } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useSession } from '../use-session.tsx';
import { ActionDialog, type Action } from './action-dialog.tsx';
import { Icon } from './icon.tsx';
import { CopyAll } from './small-parts.tsx';

type Kind = 'hold' | 'resume' | 'rotate-secret' | 'test-send';

export function EndpointActions({ endpoint }: { endpoint: EndpointShape }) {
  const { t } = useTexts();
  const { canAct } = useSession();
  const [open, setOpen] = useState<Kind | null>(null);
  const [overlapHours, setOverlap] = useState<string | number>(48);
  const [secret, setSecret] = useState<string | null>(null);
  if (!canAct) return null;
  const { id } = endpoint;
  const path = (kind: Kind) => `endpoints/${encodeURIComponent(id)}/${kind}`;
  const actions: Record<Kind, Action<RotatedShape>> = {
    hold: {
      title: t.endpoints.holdTitle(id),
      text: t.endpoints.holdText,
      button: t.endpoints.hold,
      done: t.endpoints.heldDone,
      path: path('hold'),
    },
    resume: {
      title: t.endpoints.resumeTitle(id),
      text: t.endpoints.resumeText,
      button: t.endpoints.resume,
      done: t.endpoints.resumedDone,
      path: path('resume'),
    },
    'rotate-secret': {
      title: t.endpoints.rotateTitle(id),
      text: t.endpoints.rotateText,
      button: t.endpoints.rotate,
      isDangerous: true,
      path: path('rotate-secret'),
      body: { overlapHours: Number(overlapHours) },
      isReady: overlapHours !== '',
      children: (
        <NumberInput
          label={t.endpoints.overlap}
          description={t.endpoints.overlapHint}
          min={0}
          max={8760}
          value={overlapHours}
          onChange={setOverlap}
        />
      ),
      onDone: (rotated) => setSecret(rotated.secret),
    },
    'test-send': {
      title: t.endpoints.testTitle(id),
      text: t.endpoints.testText,
      button: t.endpoints.test,
      done: t.endpoints.testDone,
      path: path('test-send'),
      onDone: (sent) => goTo(['notifications', sent.id]),
    },
  };
  const isStopped = endpoint.heldBecause !== null;
  return (
    <>
      <Menu position="bottom-end" withinPortal={false} width={170}>
        <Menu.Target>
          <UnstyledButton className="plain-button" aria-label={t.endpoints.actions(id)}>
            <Icon name="dots" />
          </UnstyledButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpen(isStopped ? 'resume' : 'hold')}>
            {isStopped ? t.endpoints.resume : t.endpoints.hold}
          </Menu.Item>
          <Menu.Item onClick={() => setOpen('test-send')}>{t.endpoints.test}</Menu.Item>
          <Menu.Item onClick={() => setOpen('rotate-secret')}>{t.endpoints.rotate}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ActionDialog action={open === null ? null : actions[open]} onClose={() => setOpen(null)} />
      <Modal
        opened={secret !== null}
        onClose={() => setSecret(null)}
        title={t.endpoints.rotated}
        closeOnClickOutside={false}
        closeOnEscape={false}
        withCloseButton={false}
      >
        <Stack gap="sm">
          <Text size="sm">{t.endpoints.rotatedText}</Text>
          <Code block>{secret}</Code>
          <CopyAll text={secret ?? ''} />
          <Button onClick={() => setSecret(null)}>{t.endpoints.secretCopied}</Button>
        </Stack>
      </Modal>
    </>
  );
}
