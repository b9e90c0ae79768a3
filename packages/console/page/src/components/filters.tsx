import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import { usePlace, useQueryChange } from '../location.ts';
import { useTexts } from '../texts/use-texts.tsx';
import { focusIfWanted } from '../search-focus.ts';
import { Icon } from './icon.tsx';

const states = ['pending', 'delivered', 'dead', 'cancelled', 'closed'] as const;
const reasons = [
  'handled',
  'acknowledged',
  'duplicate',
  'ignored',
  'stale',
  'attempts-used-up',
  'gave-up-by-age',
  'payload-conflict',
  'gone',
  'never-attempted',
  'outlived-retention',
  'endpoint-removed',
  'lost-claims',
  'cancelled',
];
const windowsMs: Readonly<Record<string, number>> = {
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
  '30d': 2_592_000_000,
};

/** The query of the address as the API wants it. */
export function filterOfQuery(query: Readonly<Record<string, string>>): Record<string, string | undefined> {
  const { state, endpoint, type, reason, q, time } = query;
  const windowMs = time === undefined ? undefined : windowsMs[time];
  const since = windowMs === undefined ? momentOf(query['since']) : startOf(windowMs);
  return { state, endpoint, type, reason, q, since, until: time === 'custom' ? momentOf(query['until']) : undefined };
}

/** What is asked for, kept in the address: a list can be sent to a colleague. */
export function Filters({ isSearchable, hasState }: { isSearchable: boolean; hasState: boolean }) {
  const { t } = useTexts();
  const { query } = usePlace();
  const change = useQueryChange();
  const isFiltered = Object.values(query).some(Boolean);
  return (
    <div className="filters" role="search">
      {isSearchable && (
        <Typed name="q" label={t.notifications.searchLabel} placeholder={t.notifications.search} isSearch />
      )}
      {hasState && (
        <Choice
          name="state"
          label={t.notifications.state}
          options={states.map((state) => ({ value: state, label: t.states[state] }))}
        />
      )}
      <Typed name="endpoint" label={t.notifications.endpoint} />
      <Typed name="type" label={t.notifications.type} />
      <Choice
        name="reason"
        label={t.notifications.reason}
        options={reasons.map((reason) => ({ value: reason, label: reason }))}
      />
      <NativeSelect
        label={t.notifications.time}
        value={query['time'] ?? ''}
        onChange={(event) => change({ time: event.currentTarget.value, since: '', until: '' })}
        data={[
          { value: '', label: t.notifications.times.any },
          ...(['1h', '24h', '7d', '30d', 'custom'] as const).map((value) => ({
            value,
            label: t.notifications.times[value],
          })),
        ]}
      />
      {query['time'] === 'custom' &&
        (['since', 'until'] as const).map((name) => (
          <TextInput
            key={name}
            type="datetime-local"
            label={t.notifications[name]}
            value={query[name] ?? ''}
            onChange={(event) => change({ [name]: event.currentTarget.value })}
          />
        ))}
      {isFiltered && (
        <Button
          className="clear"
          variant="subtle"
          onClick={() => change(Object.fromEntries(Object.keys(query).map((name) => [name, undefined])))}
        >
          {t.notifications.clear}
        </Button>
      )}
    </div>
  );
}

function Choice({
  name,
  label,
  options,
}: {
  name: string;
  label: string;
  options: { value: string; label: string }[];
}) {
  const { t } = useTexts();
  const { query } = usePlace();
  const change = useQueryChange();
  return (
    <NativeSelect
      label={label}
      value={query[name] ?? ''}
      onChange={(event) => change({ [name]: event.currentTarget.value })}
      data={[{ value: '', label: t.common.all }, ...options]}
    />
  );
}

/** Goes into the address once the typing has paused. */
function Typed({
  name,
  label,
  placeholder,
  isSearch = false,
}: {
  name: string;
  label: string;
  placeholder?: string;
  isSearch?: boolean;
}) {
  const { query } = usePlace();
  const change = useQueryChange();
  const given = query[name] ?? '';
  const [text, setText] = useState(given);
  useEffect(() => setText(given), [given]);
  useEffect(() => {
    if (isSearch) focusIfWanted();
  }, [isSearch]);
  const commit = useDebouncedCallback((value: string) => change({ [name]: value.trim() }), 300);
  return (
    <TextInput
      className={isSearch ? 'search' : undefined}
      label={label}
      placeholder={placeholder}
      value={text}
      spellCheck={false}
      autoComplete="off"
      maxLength={200}
      leftSection={isSearch ? <Icon name="search" /> : undefined}
      {...(isSearch && { 'data-search': true, type: 'search' })}
      onChange={(event) => {
        setText(event.currentTarget.value);
        commit(event.currentTarget.value);
      }}
    />
  );
}

/** Cut to the minute, so that the question stays the same from one refresh to the next. */
function startOf(windowMs: number): string {
  return new Date(Math.floor((Date.now() - windowMs) / 60_000) * 60_000).toISOString();
}

function momentOf(local: string | undefined): string | undefined {
  if (local === undefined || local === '') return undefined;
  const moment = new Date(local);
  return Number.isNaN(moment.getTime()) ? undefined : moment.toISOString();
}
