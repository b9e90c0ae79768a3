import { newNotificationId } from '@bestnotify/protocol';
import { ConfigurationError } from '../errors.js';
import type { EndpointContext } from '../outbox/endpoints.js';
import { everyNetwork } from '../outbox/endpoint-columns.js';
import { ensureEndpoint, isKnownDirect } from '../outbox/endpoints.js';
import { NotificationRefusedError } from '../outbox/errors.js';
import type { Queryable } from '../outbox/database.js';
import { resolvePolicy, type PolicyRule } from '../rules/policies.js';
import { checkEndpointUrl } from '../rules/urls.js';
import { enqueue, type EncodedNotification, type Enqueued } from './enqueue.js';
import { traceEnqueue } from '../telemetry/tracing.js';
import { encodeBody, type RawBody } from './limits.js';
import { pooledRandomBytes } from './random-bytes.js';
import { overTransaction, type CallerTransaction } from './transactions.js';

/** What may be set for all notifications of a type. */
export interface TypeOptions {
  policy?: string | PolicyRule;
  maxAttempts?: number;
  lane?: 'urgent' | 'normal';
}

/** One business event. */
export interface NotificationInput extends TypeOptions {
  /** An endpoint that is stored. Give this, or `to` with `url` and `secret`. */
  endpoint?: string;
  /** Instead of `endpoint`: who it is for. The endpoint is created when missing. */
  to?: string;
  /** Where this notification goes, instead of the endpoint's URL: in payments every order can carry its own. */
  url?: string;
  /** With `to`: the merchant's secret, `whsec_…`. */
  secret?: string;
  /** `payment.success`: 1 to 64 of `A-Z a-z 0-9 _ . : -`. */
  type: string;
  /** The id of the event's own object: the payment number, the refund number. With `type` it says which event this is. */
  bizId: string;
  /** What it is about: the order number. */
  subject?: string;
  occurredAt?: string | Date;
  /** For receivers that order full-state events: a whole number from 0 to 2^53−1. */
  sequence?: number;
  /** Any JSON. Put amounts in strings: a JSON number loses digits. */
  data?: unknown;
  /** Instead of `data`: bytes of the platform's own format, sent unchanged. */
  raw?: RawBody;
}

/** In which transaction a notification is written. */
export interface NotifyOptions {
  /** The caller's open transaction. Left out, the notification is written, and real, at once. */
  tx?: CallerTransaction;
}

/** What `notify` needs from its sender. */
export interface NotifyContext extends EndpointContext {
  types: Readonly<Record<string, TypeOptions>>;
  /** Wall clock in ms; only the order of new ids depends on it. */
  nowMs: () => number;
  /** Called when notifications were written outside a caller's transaction: they are due now. */
  onWritten: () => void;
}

/**
 * Checks, encodes and enqueues notifications.
 *
 * Every check comes before the first statement: input that cannot be encoded leaves the caller's transaction usable.
 */
export async function notifyMany(
  context: NotifyContext,
  inputs: readonly NotificationInput[],
  { tx }: NotifyOptions = {},
): Promise<Enqueued[]> {
  const encoded = inputs.map((input) => encode(context, input));
  return encoded.length === 0 ? [] : traceEnqueue(encoded, () => write(context, encoded, inputs, tx));
}

async function write(
  context: NotifyContext,
  encoded: readonly EncodedNotification[],
  inputs: readonly NotificationInput[],
  tx: CallerTransaction | undefined,
): Promise<Enqueued[]> {
  const caller = tx === undefined ? undefined : overTransaction(tx);
  for (const direct of distinctDirects(inputs)) await ensure(context, caller, direct);
  if (caller !== undefined) return enqueue(caller, context.schema, encoded);
  const results =
    encoded.length === 1
      ? await enqueue(context.database, context.schema, encoded) // a single statement is a transaction of its own
      : await context.database.transaction((own) => enqueue(own, context.schema, encoded));
  context.onWritten();
  return results;
}

function encode(context: NotifyContext, input: NotificationInput): EncodedNotification {
  const { source, types, policies, defaults } = context;
  const to = input.endpoint ?? input.to;
  if (to === undefined || (input.endpoint !== undefined && input.to !== undefined)) {
    throw new NotificationRefusedError({
      member: 'endpoint',
      problem: 'must be given, or else to with url and secret',
    });
  }
  if (input.to !== undefined && (input.url === undefined || input.secret === undefined)) {
    throw new NotificationRefusedError({
      member: 'to',
      problem: 'needs url and secret beside it; use endpoint for one that is stored',
    });
  }
  const typeOptions = Object.hasOwn(types, input.type) ? types[input.type] : undefined;
  const policy = input.policy ?? typeOptions?.policy;
  const maxAttempts = input.maxAttempts ?? typeOptions?.maxAttempts ?? null;
  if (maxAttempts !== null && !(Number.isInteger(maxAttempts) && maxAttempts >= 1 && maxAttempts <= 1000)) {
    throw new NotificationRefusedError({ member: 'maxAttempts', problem: 'must be a whole number from 1 to 1000' });
  }
  const { type, bizId, subject, occurredAt, sequence, data, raw } = input;
  const { body, contentType } = encodeBody({ source, to, type, bizId, subject, occurredAt, sequence, data, raw });
  return {
    uuid: newNotificationId(context.nowMs(), pooledRandomBytes).slice('ntf_'.length),
    source,
    endpoint: to,
    type,
    bizId,
    subject: subject ?? null,
    // Its own URL is checked against the sender's defaults here, and against the endpoint's settings when it is sent.
    url:
      input.url === undefined
        ? null
        : checkEndpointUrl(input.url, { allowHttp: defaults.allowHttp ?? true, ...context.urlRules(everyNetwork) }),
    lane: (input.lane ?? typeOptions?.lane) === 'urgent' ? 0 : 1,
    policy: policy === undefined ? null : resolvePolicy(policy, policies).text,
    maxAttempts,
    contentType,
    body,
  };
}

interface Direct {
  to: string;
  secret: string;
}

function distinctDirects(inputs: readonly NotificationInput[]): Direct[] {
  const directs = new Map<string, Direct>();
  for (const { to, secret } of inputs) {
    if (to === undefined || secret === undefined) continue;
    const first = directs.get(to);
    if (first !== undefined && first.secret !== secret) {
      throw new ConfigurationError({ option: 'secret', problem: `differs between two notifications for ${to}` });
    }
    directs.set(to, { to, secret });
  }
  return [...directs.values()];
}

/** A missing one is made on a connection of our own, so that it stays when the caller rolls back; PGlite has only the caller's. */
async function ensure(context: NotifyContext, caller: Queryable | undefined, direct: Direct): Promise<void> {
  if (caller !== undefined && context.database.isSingleSession) await ensureEndpoint(context, caller, direct);
  else if (caller === undefined || !(await isKnownDirect(context, caller, direct)))
    await context.database.transaction((own) => ensureEndpoint(context, own, direct));
}
