import { ConfigurationError } from '../../errors.js';
import { checkMoment, checkOptionalText, checkTexts } from '../check-values.js';
import type { Parameter } from '../database.js';
import { uuidOf } from './context.js';
import { notificationStates, stateNumber, type NotificationState } from '../states.js';

/** Which notifications are meant. Members are combined with and. */
export interface NotificationFilter {
  state?: NotificationState;
  endpoint?: string;
  type?: string;
  bizId?: string;
  subject?: string;
  /** Why it is settled. */
  reason?: string;
  /** Enqueued at or after this moment. */
  since?: Date;
  /** Enqueued before this moment. */
  until?: Date;
  /** Its business id or its subject. */
  search?: string;
  /** Only these notifications, at most 500 ids. */
  ids?: readonly string[];
  /** Only these endpoints, whatever else is asked: what an operator may see. */
  endpoints?: readonly string[];
}

const maxIds = 500;

/** Reasons that nearly every delivered notification has: filtering by them needs no index. */
export const commonReasons: readonly string[] = ['handled', 'acknowledged'];

const columns: Readonly<Record<Exclude<keyof NotificationFilter, 'state'>, (placeholder: string) => string>> = {
  endpoint: (p) => `n.endpoint = ${p}`,
  type: (p) => `n.type = ${p}`,
  bizId: (p) => `n.biz_id = ${p}`,
  subject: (p) => `n.subject = ${p}`,
  reason: (p) => `o.reason = ${p}`,
  since: (p) => `n.created_at >= ${p}::text::timestamptz`,
  until: (p) => `n.created_at < ${p}::text::timestamptz`,
  search: (p) => `(n.biz_id = ${p} or n.subject = ${p})`,
  ids: (p) => `n.id = any (array(select jsonb_array_elements_text(${p}::text::jsonb)::uuid))`,
  endpoints: (p) => `n.endpoint = any (array(select jsonb_array_elements_text(${p}::text::jsonb)))`,
};

/** @throws {@link ConfigurationError} naming the first member that can match nothing: a state that does not exist, an invalid date, … */
export function checkFilter(filter: NotificationFilter): void {
  for (const member of ['endpoint', 'type', 'bizId', 'subject', 'reason', 'search'] as const) {
    checkOptionalText(member, filter[member]);
  }
  checkMoment('since', filter.since);
  checkMoment('until', filter.until);
  checkTexts('ids', filter.ids);
  filter.ids?.forEach(uuidOf);
  checkTexts('endpoints', filter.endpoints);
  if (filter.state !== undefined && !notificationStates.includes(filter.state)) {
    throw new ConfigurationError({ option: 'state', problem: `must be one of ${notificationStates.join(', ')}` });
  }
  if (filter.ids !== undefined && filter.ids.length > maxIds) {
    throw new ConfigurationError({
      option: 'ids',
      problem: `holds ${filter.ids.length} ids; at most ${maxIds} at once`,
    });
  }
}

/** A checked filter as SQL over `notification n` and `outbox o`, with its parameters appended to `parameters`. */
export function conditionsOf(filter: NotificationFilter, parameters: Parameter[]): string[] {
  const values: Record<keyof typeof columns, Parameter | undefined> = {
    since: filter.since?.toISOString(),
    until: filter.until?.toISOString(),
    search: filter.search,
    ids: filter.ids === undefined ? undefined : JSON.stringify(filter.ids.map(uuidOf)),
    endpoints: filter.endpoints === undefined ? undefined : JSON.stringify(filter.endpoints),
    endpoint: filter.endpoint,
    type: filter.type,
    bizId: filter.bizId,
    subject: filter.subject,
    reason: filter.reason,
  };
  // A literal: only that lets the planner use an index over some states.
  const conditions = filter.state === undefined ? [] : [`o.state = ${stateNumber(filter.state)}`];
  for (const member of Object.keys(columns) as (keyof typeof columns)[]) {
    const value = values[member];
    if (value === undefined) continue;
    parameters.push(value);
    conditions.push(columns[member](`$${parameters.length}`));
  }
  return conditions;
}
