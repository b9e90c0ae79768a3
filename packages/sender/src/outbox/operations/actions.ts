import type { NotificationState } from '../states.js';
import { checkFlag, checkOptionalText, checkText } from '../check-values.js';
import { textOf } from '../database.js';
import { heldMs } from '../held-time.js';
import { lockHealth } from '../lock-health.js';
import { quoteSchema } from '../schema-name.js';
import { DuplicateEffectError, IllegalStateError, UnknownEndpointError, UnknownNotificationError } from '../errors.js';
import { checkEndpointUrl } from '../../rules/urls.js';
import {
  audit,
  endpointList,
  isAmong,
  knownSince,
  lockNotification,
  type Action,
  type LockedNotification,
  type OperationContext,
} from './context.js';

/** How a resend goes out. */
export interface ResendOptions extends Action {
  /** A corrected URL for this notification; it stays with it. */
  url?: string;
  /** Needed where the receiver may no longer know that it has handled this before. @default false */
  acceptDuplicateEffect?: boolean;
  /** Only if this is still its state: what the person saw who asked for it. */
  onlyIf?: NotificationState;
}

/**
 * Sends a settled notification once more: same id, same bytes, current keys, with a fresh round of attempts.
 *
 * @throws {@link IllegalStateError} while it is pending; use `sendNow` then.
 * @throws {@link DuplicateEffectError} where a second effect is possible and not accepted.
 */
export async function resend(context: OperationContext, id: string, options: ResendOptions = {}): Promise<void> {
  checkFlag('acceptDuplicateEffect', options.acceptDuplicateEffect);
  const url = options.url === undefined ? null : checkEndpointUrl(options.url, { allowHttp: true });
  const name = quoteSchema(context.schema);
  await context.database.transaction(async (tx) => {
    const row = await lockNotification(tx, context, id, options);
    if (row.state === 'pending')
      throw illegal(row, id, {
        action: 'resend',
        allowed: 'It is still being sent by itself; use sendNow to hurry it.',
      });
    if (options.onlyIf !== undefined && options.onlyIf !== row.state) {
      throw illegal(row, id, {
        action: 'resend',
        allowed: `It was ${options.onlyIf} when this was asked for; look again.`,
      });
    }
    if (!row.hasBody) throw new UnknownNotificationError({ id, isPruned: true });
    if (options.acceptDuplicateEffect !== true && (row.state === 'closed' || row.mayBeForgotten)) {
      throw new DuplicateEffectError({ id, because: row.state === 'closed' ? 'closed' : 'outlived-retention' });
    }
    // The endpoint is looked up anew: it may have been removed and made again since.
    const changed = await tx.query(
      `update ${name}.outbox o
          set state = 0, round = o.round + 1, round_at = now(), due_at = now(), attempts = 0, lost_claims = 0, waits = 0,
              first_attempt_at = null, first_claimed_at = ${knownSince}, held_ms_before = ${heldMs}, settled_at = null, reason = null, claim_token = null,
              duplicate_accepted = $2::boolean, corrected_url = coalesce($3::text, o.corrected_url), endpoint_key = e.key
         from ${name}.endpoint e
        where o.number = $1::text::bigint and e.source = $4 and e.id = $5
        returning 1 as one`,
      [row.number, options.acceptDuplicateEffect === true, url, context.source, row.endpoint],
    );
    if (changed.length === 0) throw new UnknownEndpointError({ endpoint: row.endpoint, source: context.source });
    await audit(tx, context, {
      ...options,
      action: 'resend',
      endpoint: row.endpoint,
      uuid: row.uuid,
      details: { from: row.state },
    });
  });
  context.onDue();
}

/** Makes a pending notification due now. @throws {@link IllegalStateError} if it is settled, or being sent right now. */
export async function sendNow(context: OperationContext, id: string, options: Action = {}): Promise<void> {
  await changePending(context, id, { ...options, action: 'send-now', set: 'due_at = now(), claimed_until = null' });
  context.onDue();
}

/** Ends a pending notification without sending it. @throws {@link IllegalStateError} if it is settled, or being sent right now. */
export async function cancel(context: OperationContext, id: string, options: Action = {}): Promise<void> {
  await changePending(context, id, {
    ...options,
    action: 'cancel',
    // A token that is still there belongs to a claim that ran out, whose worker may have sent.
    set: `state = 3, settled_at = now(), reason = 'cancelled', may_have_arrived = may_have_arrived or claim_token is not null, claim_token = null, claimed_until = null`,
  });
}

/** Records that a dead notification was made good by hand. @throws {@link IllegalStateError} unless it is dead. */
export async function close(context: OperationContext, id: string, options: Action & { note: string }): Promise<void> {
  await context.database.transaction(async (tx) => {
    const row = await lockNotification(tx, context, id, options);
    if (row.state !== 'dead')
      throw illegal(row, id, { action: 'close', allowed: 'Only dead notifications can be closed.' });
    await tx.query(`update ${quoteSchema(context.schema)}.outbox set state = 4 where number = $1::text::bigint`, [
      row.number,
    ]);
    await audit(tx, context, { ...options, action: 'close', endpoint: row.endpoint, uuid: row.uuid });
  });
}

/** Keeps an endpoint's notifications from being sent; they lose neither attempts nor time. @throws UnknownEndpointError */
export async function holdEndpoint(context: OperationContext, endpoint: string, options: Action = {}): Promise<void> {
  await changeEndpoint(context, endpoint, {
    ...options,
    action: 'hold-endpoint',
    set: `held_at = coalesce(held_at, now()), held_because = coalesce(held_because, $4)`,
    parameters: [options.note ?? 'operator'],
  });
}

/** Sends an endpoint's notifications again; the time it was held does not count as their age. @throws UnknownEndpointError */
export async function resumeEndpoint(context: OperationContext, endpoint: string, options: Action = {}): Promise<void> {
  await changeEndpoint(context, endpoint, {
    ...options,
    action: 'resume-endpoint',
    set: `held_ms = held_ms + coalesce((extract(epoch from now() - held_at) * 1000)::bigint, 0), held_at = null, held_because = null`,
    parameters: [],
    // Its backlog comes back slowly, and two old replies of 410 do not hold it again at the next one.
    alsoHealth: 'gone = 0, ramped_from = now()',
  });
  context.onDue();
}

async function changePending(
  context: OperationContext,
  id: string,
  change: Action & { action: string; set: string },
): Promise<void> {
  await context.database.transaction(async (tx) => {
    const row = await lockNotification(tx, context, id, change);
    if (row.state !== 'pending' || row.isClaimed) {
      throw illegal(row, id, {
        action: change.action,
        allowed: 'Only a pending notification that is not being sent allows that.',
      });
    }
    await tx.query(`update ${quoteSchema(context.schema)}.outbox set ${change.set} where number = $1::text::bigint`, [
      row.number,
    ]);
    await audit(tx, context, { ...change, endpoint: row.endpoint, uuid: row.uuid });
  });
}

async function changeEndpoint(
  context: OperationContext,
  endpoint: string,
  change: Action & { action: string; set: string; parameters: string[]; alsoHealth?: string },
): Promise<void> {
  checkText('endpoint', endpoint);
  checkOptionalText('note', change.note);
  const name = quoteSchema(context.schema);
  await context.database.transaction(async (tx) => {
    await lockHealth(tx, context, endpoint);
    const [changed] = await tx.query(
      `update ${name}.endpoint set ${change.set} where source = $1 and id = $2 and ${isAmong('id', '$3')} returning key::text as key`,
      [context.source, endpoint, endpointList(change.endpoints), ...change.parameters],
    );
    if (changed === undefined) throw new UnknownEndpointError({ endpoint, source: context.source });
    if (change.alsoHealth !== undefined) {
      const key = textOf(changed, 'key');
      await tx.query(`update ${name}.endpoint_health set ${change.alsoHealth} where endpoint_key = $1::text::bigint`, [
        key,
      ]);
    }
    await audit(tx, context, { ...change, endpoint });
  });
}

function illegal(row: LockedNotification, id: string, facts: { action: string; allowed: string }): IllegalStateError {
  return new IllegalStateError({ id, state: row.state, isClaimed: row.isClaimed, ...facts });
}
