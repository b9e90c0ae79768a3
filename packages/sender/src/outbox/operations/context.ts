import { notificationIdPattern } from '@bestnotify/protocol';
import { checkOptionalText, checkText, checkTexts } from '../check-values.js';
import { booleanOf, intOf, textOf, type Database, type Queryable } from '../database.js';
import { UnknownNotificationError } from '../errors.js';
import { isClaimed } from '../live-claims.js';
import { quoteSchema } from '../schema-name.js';
import { stateOf, type NotificationState } from '../states.js';

/** What operations need from their sender. */
export interface OperationContext {
  database: Database;
  schema: string;
  source: string;
  /** Something may be due now. */
  onDue: () => void;
}

/** Who does it and why; kept in the audit. */
export interface Action {
  /** @default 'operator' */
  actor?: string;
  note?: string;
  /** Only if it belongs to one of these endpoints; for this caller nothing else exists. */
  endpoints?: readonly string[];
}

/** The facts an action is decided by, read under a row lock. */
export interface LockedNotification {
  number: string;
  uuid: string;
  state: NotificationState;
  isClaimed: boolean;
  mayBeForgotten: boolean;
  hasBody: boolean;
  endpoint: string;
}

/**
 * Locks one notification of this source, so that the decision and the change see the same row.
 *
 * @throws {@link UnknownNotificationError} if there is none, or only its key row is left.
 */
export async function lockNotification(
  tx: Queryable,
  context: OperationContext,
  id: string,
  { endpoints }: Pick<Action, 'endpoints'> = {},
): Promise<LockedNotification> {
  const uuid = uuidOf(id);
  const name = quoteSchema(context.schema);
  const [row] = await tx.query(
    `select o.number::text as number, o.state::int4 as state, n.endpoint, n.body is not null as has_body,
            ${isClaimed} as is_claimed,
            coalesce(o.may_have_arrived and o.first_claimed_at < now() - interval '6 days', false) as may_be_forgotten
       from ${name}.notification n join ${name}.outbox o on o.number = n.number
      where n.id = $1::text::uuid and n.source = $2 and ${isAmong('n.endpoint', '$3')}
        for update of o`,
    [uuid, context.source, endpointList(endpoints)],
  );
  if (row === undefined) throw await unknown(tx, context, id);
  return {
    number: textOf(row, 'number'),
    uuid,
    state: stateOf(intOf(row, 'state')),
    isClaimed: booleanOf(row, 'is_claimed'),
    mayBeForgotten: booleanOf(row, 'may_be_forgotten'),
    hasBody: booleanOf(row, 'has_body'),
    endpoint: textOf(row, 'endpoint'),
  };
}

/** A condition that a column is one of the endpoints in a parameter made by {@link endpointList}. */
export function isAmong(column: string, placeholder: string): string {
  return `(${placeholder}::text is null or ${column} = any (array(select jsonb_array_elements_text(${placeholder}::text::jsonb))))`;
}

/** Endpoints as one parameter; null means all of them. */
export function endpointList(endpoints: readonly string[] | undefined): string | null {
  checkTexts('endpoints', endpoints);
  return endpoints === undefined ? null : JSON.stringify(endpoints);
}

/**
 * Since when a receiver may know outbox row `o`, for a round that begins now: a row that never may have arrived is new
 * to it, however old it is, and has its whole round before it counts as forgotten.
 */
export const knownSince = `case when o.may_have_arrived then o.first_claimed_at end`;

/** Writes who did what, in the transaction that does it. @throws ConfigurationError for texts that cannot be kept. */
export async function audit(
  tx: Queryable,
  context: OperationContext,
  entry: Action & { action: string; endpoint?: string; uuid?: string; details?: object },
): Promise<void> {
  checkOptionalText('actor', entry.actor);
  checkOptionalText('note', entry.note);
  await tx.query(
    `insert into ${quoteSchema(context.schema)}.audit (actor, action, endpoint, notification_id, note, details)
     values ($1, $2, $3, $4::text::uuid, $5, $6)`,
    [
      entry.actor ?? 'operator',
      entry.action,
      entry.endpoint ?? null,
      entry.uuid ?? null,
      entry.note ?? null,
      entry.details === undefined ? null : JSON.stringify(entry.details),
    ],
  );
}

/** @throws {@link UnknownNotificationError} for a text that is no notification id at all. */
export function uuidOf(id: string): string {
  checkText('id', id);
  const uuid = id.startsWith('ntf_') ? id.slice('ntf_'.length) : id;
  if (!notificationIdPattern.test(id) || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(uuid)) {
    throw new UnknownNotificationError({ id });
  }
  return uuid;
}

async function unknown(tx: Queryable, context: OperationContext, id: string): Promise<UnknownNotificationError> {
  const rows = await tx.query(
    `select 1 as one from ${quoteSchema(context.schema)}.notification_key where id = $1::text::uuid`,
    [uuidOf(id)],
  );
  return new UnknownNotificationError({ id, isPruned: rows.length > 0 });
}
