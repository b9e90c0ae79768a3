import { Button, Group, Paper, Progress, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProgressShape, RunShape } from '../../../src/shapes.js';
import { get, postLines } from '../api-client.ts';
import { formatCount } from '../format.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { useLive } from '../use-live.tsx';
import { useSession } from '../use-session.tsx';
import { ActionDialog, RefusalText, type Action } from './action-dialog.tsx';
import { When } from './small-parts.tsx';

/** Bulk resends that have not come to their end: what is under way, and what a crash or a closed process has left. */
export function UnfinishedRuns() {
  const { t } = useTexts();
  const { refetchInterval } = useLive();
  const { data } = useQuery({
    queryKey: ['runs'],
    queryFn: ({ signal }) => get<{ items: RunShape[] }>('bulk-runs', {}, signal),
    // One that is under way is watched more closely.
    refetchInterval: ({ state }) =>
      refetchInterval !== false && (state.data?.items.length ?? 0) > 0 ? 1_000 : refetchInterval,
  });
  const [stopping, setStopping] = useState<Action<unknown> | null>(null);
  if (data === undefined || data.items.length === 0) return null;
  return (
    <Paper withBorder p="sm" mb="sm" component="section" aria-label={t.runs.title}>
      <Text size="sm" fw={500} component="h2">
        {t.runs.title}
      </Text>
      <Text size="xs" c="dimmed" mb="xs">
        {t.runs.hint}
      </Text>
      <Stack gap="sm">
        {data.items.map((run) => (
          <Run
            key={run.run}
            run={run}
            onStop={() =>
              setStopping({
                title: t.runs.stopTitle(run.run),
                text: t.runs.stopText,
                button: t.runs.stop,
                isDangerous: true,
                path: `bulk-runs/${run.run}/stop`,
                done: t.runs.stopped,
              })
            }
          />
        ))}
      </Stack>
      <ActionDialog action={stopping} onClose={() => setStopping(null)} />
    </Paper>
  );
}

function Run({ run, onStop }: { run: RunShape; onStop: () => void }) {
  const { t, language } = useTexts();
  const { canAct } = useSession();
  const client = useQueryClient();
  const [progress, setProgress] = useState<ProgressShape | null>(null);
  const goOn = useMutation({
    mutationFn: () => postLines('bulk-resend', { resume: run.run }, setProgress),
    onSettled: () => client.invalidateQueries(),
  });
  const { resent, skipped } = progress !== null && progress.resent > run.resent ? progress : run;
  const count = (value: number) => formatCount(value, language);
  return (
    <div data-run={run.run}>
      <Group justify="space-between" gap="xs" mb={4}>
        <Text size="sm">
          {t.runs.name(run.run)} · <bdi>{run.actor}</bdi> · <When at={run.beganAt} />{' '}
          <span className="meaning">
            <WhatFor run={run} /> · {t.runs.pace(count(run.perSecond))}
          </span>
        </Text>
        {canAct && (
          <Group gap="xs">
            <Button variant="default" onClick={onStop} disabled={goOn.isPending}>
              {t.runs.stop}
            </Button>
            <Button loading={goOn.isPending} onClick={() => goOn.mutate()}>
              {t.runs.goOn}
            </Button>
          </Group>
        )}
      </Group>
      <Progress
        value={(100 * (resent + skipped)) / Math.max(1, run.matched)}
        aria-label={t.runs.name(run.run)}
        mb={4}
      />
      <Text size="xs" c="dimmed" role="status">
        {t.dead.progress(count(resent), count(run.matched))}
        {skipped > 0 && ` · ${t.dead.skipped(count(skipped))}`}
      </Text>
      {goOn.error !== null && <RefusalText error={goOn.error} />}
    </div>
  );
}

/** What the run was asked for, in the words of its filter. */
function WhatFor({ run: { filter, chosen } }: { run: RunShape }) {
  const { t } = useTexts();
  const { endpoint, type, reason, since, until } = filter;
  const parts = [endpoint, type, reason].filter((part) => part !== undefined);
  return (
    <>
      {chosen !== null && t.dead.selected(chosen)}
      {chosen === null && parts.length === 0 && since === undefined && until === undefined && t.runs.all}
      <bdi>{parts.join(' · ')}</bdi>
      {since !== undefined && (
        <>
          {' '}
          {t.notifications.since} <When at={since} />
        </>
      )}
      {until !== undefined && (
        <>
          {' '}
          {t.notifications.until} <When at={until} />
        </>
      )}
    </>
  );
}
