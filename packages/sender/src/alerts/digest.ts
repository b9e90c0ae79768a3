import type { AlertEntry, AlertKind } from './alert.js';

/** Something that an alert is to tell. */
export interface AlertEvent extends Omit<AlertEntry, 'since'> {
  kind: AlertKind;
  /** Wall clock of the database, in ms since 1970. */
  atMs: number;
}

/** What has gathered of one kind for one audience. */
export interface Pending {
  count: number;
  endpoints: number;
  sinceMs: number;
  entries: (Omit<AlertEvent, 'kind'> & { endpoint: string | null })[];
}

/** Endpoints that a digest remembers by name. Beyond them it only counts. */
const maxEntries = 100;

/** Adds events of one kind. Of each endpoint the first reason is kept, and the sum. */
export function gather(pending: Pending | undefined, events: readonly AlertEvent[]): Pending {
  const gathered: Pending =
    pending === undefined
      ? { count: 0, endpoints: 0, sinceMs: Infinity, entries: [] }
      : { ...pending, entries: pending.entries.map((entry) => ({ ...entry })) };
  const known = new Map(gathered.entries.map((entry) => [entry.endpoint, entry]));
  for (const { kind: _, ...event } of events) {
    gathered.count += event.count;
    gathered.sinceMs = Math.min(gathered.sinceMs, event.atMs);
    const entry = known.get(event.endpoint);
    if (entry !== undefined) {
      entry.count += event.count;
      continue;
    }
    gathered.endpoints += 1; // one too many for each repeat of an endpoint that is not remembered
    if (known.size >= maxEntries) continue;
    const added = { ...event };
    known.set(event.endpoint, added);
    gathered.entries.push(added);
  }
  return gathered;
}

/** How long alerts of one kind are gathered. */
export interface WindowRules {
  windowMs: number;
  longestWindowMs: number;
}

/**
 * How long to gather after the alert that is told now: the shortest window after a quiet time as long as the last one,
 * else twice the last one.
 *
 * @param before.windowMs - the last window; 0 before the first alert.
 * @param before.openForMs - how long that window has been over, in ms.
 */
export function nextWindowMs(before: { windowMs: number; openForMs: number }, rules: WindowRules): number {
  const isFresh = before.windowMs === 0 || before.openForMs >= before.windowMs;
  return isFresh ? rules.windowMs : Math.min(before.windowMs * 2, rules.longestWindowMs);
}
