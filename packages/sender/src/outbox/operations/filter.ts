import { ConfigurationError } from '../../errors.js';
import type { Parameter } from '../database.js';
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
  /** Only these endpoints, whatever else is asked: what an operator may see. */
  endpoints?: readonly string[];
}

const columns: Readonly<Record<keyof NotificationFilter, (placeholder: string) => string>> = {
  endpoint: (p) => `n.endpoint = ${p}`,
  type: (p) => `n.type = ${p}`,
  bizId: (p) => `n.biz_id = ${p}`,
  subject: (p) => `n.subject = ${p}`,
  reason: (p) => `o.reason = ${p}`,
  state: (p) => `o.state = ${p}::int2`,
  since: (p) => `n.created_at >= ${p}::text::timestamptz`,
  until: (p) => `n.created_at < ${p}::text::timestamptz`,
  endpoints: (p) => `n.endpoint = any (array(select jsonb_array_elements_text(${p}::text::jsonb)))`,
};

/**
 * A filter as SQL over `notification n` and `outbox o`, with its parameters appended to `parameters`.
 *
 * @throws {@link ConfigurationError} for a state that does not exist.
 */
export function conditionsOf(filter: NotificationFilter, parameters: Parameter[]): string[] {
  if (filter.state !== undefined && !notificationStates.includes(filter.state)) {
    throw new ConfigurationError({ option: 'state', problem: `must be one of ${notificationStates.join(', ')}` });
  }
  const values: Record<keyof NotificationFilter, Parameter | undefined> = {
    state: filter.state === undefined ? undefined : stateNumber(filter.state),
    since: filter.since?.toISOString(),
    until: filter.until?.toISOString(),
    endpoints: filter.endpoints === undefined ? undefined : JSON.stringify(filter.endpoints),
    endpoint: filter.endpoint,
    type: filter.type,
    bizId: filter.bizId,
    subject: filter.subject,
    reason: filter.reason,
  };
  const conditions: string[] = [];
  for (const member of Object.keys(columns) as (keyof NotificationFilter)[]) {
    const value = values[member];
    if (value === undefined) continue;
    parameters.push(value);
    conditions.push(columns[member](`$${parameters.length}`));
  }
  return conditions;
}
