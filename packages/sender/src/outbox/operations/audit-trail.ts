import { ConfigurationError } from '../../errors.js';
import { checkOptionalText, checkTexts } from '../check-values.js';
import { textOf, textOrNull, type Parameter } from '../database.js';
import { quoteSchema } from '../schema-name.js';
import { uuidOf, type OperationContext } from './context.js';

/** Who did what. */
export interface AuditEntry {
  number: string;
  at: Date;
  actor: string;
  action: string;
  endpoint: string | null;
  /** `ntf_…` */
  notification: string | null;
  note: string | null;
  /** JSON, or null. */
  details: string | null;
}

/** Which entries, newest first. */
export interface AuditFilter {
  notification?: string;
  endpoint?: string;
  /** Only these endpoints; entries about none are left out. */
  endpoints?: readonly string[];
  /** At most 500. @default 50 */
  limit?: number;
  /** `next` of the page before. */
  after?: string;
}

/** A page of the audit, newest first. `next` is null on the last one. */
export async function auditTrail(
  context: OperationContext,
  filter: AuditFilter = {},
): Promise<{ items: AuditEntry[]; next: string | null }> {
  const { limit = 50, after, notification, endpoint, endpoints } = filter;
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= 500)) {
    throw new ConfigurationError({ option: 'limit', problem: 'must be a whole number from 1 to 500' });
  }
  if (after !== undefined && !/^\d{1,18}$/.test(after)) {
    throw new ConfigurationError({ option: 'after', problem: 'is not the next of an earlier page' });
  }
  checkOptionalText('endpoint', endpoint);
  checkTexts('endpoints', endpoints);
  const parameters: Parameter[] = [];
  const where = ['true'];
  const add = (value: Parameter | undefined, condition: (placeholder: string) => string) => {
    if (value === undefined) return;
    parameters.push(value);
    where.push(condition(`$${parameters.length}`));
  };
  add(after, (p) => `a.number < ${p}::text::bigint`);
  add(notification === undefined ? undefined : uuidOf(notification), (p) => `a.notification_id = ${p}::text::uuid`);
  add(endpoint, (p) => `a.endpoint = ${p}`);
  add(
    endpoints && JSON.stringify(endpoints),
    (p) => `a.endpoint = any (array(select jsonb_array_elements_text(${p}::text::jsonb)))`,
  );
  const rows = await context.database.query(
    `select a.number::text as number, to_char(a.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, a.actor, a.action, a.endpoint,
            a.notification_id::text as notification_id, a.note, a.details
       from ${quoteSchema(context.schema)}.audit a where ${where.join(' and ')} order by a.number desc limit ${limit + 1}`,
    parameters,
  );
  const items = rows.slice(0, limit).map((row) => {
    const uuid = textOrNull(row, 'notification_id');
    return {
      number: textOf(row, 'number'),
      at: new Date(textOf(row, 'at')),
      actor: textOf(row, 'actor'),
      action: textOf(row, 'action'),
      endpoint: textOrNull(row, 'endpoint'),
      notification: uuid === null ? null : `ntf_${uuid}`,
      note: textOrNull(row, 'note'),
      details: textOrNull(row, 'details'),
    };
  });
  return { items, next: rows.length > limit ? (items.at(-1)?.number ?? null) : null };
}
