import { payloadDigest, type Envelope, type ReplyReason } from '@bestnotify/protocol';
import { RawBodyMissingError } from '../errors.js';
import { identifyBody } from '../identify.js';
import type { IncomingNotification, Notification } from '../notification.js';
import type { ResolvedOptions } from '../options.js';
import type { KeySource } from '../secrets.js';
import type { ClaimRequest } from '../stores/store.js';
import { isUtf8Label, takeBody } from './body.js';
import { checkSignature, isSignatureError } from './check-signature.js';

/** A genuine notification for us, ready to be claimed. */
export interface Opened {
  notification: Notification;
  rawBody: Buffer;
  keyId: string;
  receivedAt: Date;
  claim: Omit<ClaimRequest, 'token'>;
}

/** A request that ends here, with the row that answers it. */
export interface Refused {
  refused: ReplyReason;
  error?: unknown;
}

/** Method, bytes, signature, freshness, grammar, audience: everything that needs no store. */
export async function openNotification(
  request: IncomingNotification,
  options: ResolvedOptions,
  keys: KeySource,
): Promise<Opened | Refused> {
  const receivedAt = options.clock();
  const taking = takeBody(request, options);
  const taken = taking instanceof Promise ? await taking : taking;
  if ('refused' in taken) {
    return taken.refused === 'raw-body-missing' ? { refused: taken.refused, error: new RawBodyMissingError() } : taken;
  }
  const { body } = taken;
  let ring;
  try {
    ring = keys.current();
    if (ring instanceof Promise) ring = await ring;
  } catch (error) {
    return { refused: 'store-unavailable', error };
  }
  let genuine;
  try {
    genuine = checkSignature(body, request.headers, ring, options);
  } catch (error) {
    if (!isSignatureError(error)) throw error;
    return { refused: isTimestampFault(error) ? 'stale-timestamp' : 'invalid-signature', error };
  }
  if (options.identify === undefined && options.profile === 'v1' && !isUtf8Label(request.headers)) {
    return { refused: 'unsupported-encoding' };
  }
  let envelope: Envelope;
  try {
    const identifying = identifyBody(body, request.headers, options);
    envelope = identifying instanceof Promise ? await identifying : identifying;
  } catch (error) {
    return { refused: 'malformed', error };
  }
  if (envelope.source !== options.source || envelope.to !== options.to) return { refused: 'wrong-audience' };
  return opened(envelope, genuine, { body, receivedAt }, options);
}

function isTimestampFault(error: { reason: string; header: string }): boolean {
  return error.header === 'webhook-timestamp' && error.reason !== 'missing';
}

function opened(
  envelope: Envelope,
  { id, keyId }: { id: string; keyId: string },
  { body, receivedAt }: { body: Buffer; receivedAt: Date },
  options: ResolvedOptions,
): Opened | Refused {
  const { source, to, type, bizId, subject, sequence } = envelope;
  const claim: Opened['claim'] = {
    key: { source, to, type, bizId },
    digest: payloadDigest(body),
    leaseMs: options.leaseMs,
    retentionMs: options.retentionMs,
  };
  if (options.latestOnly.includes(type)) {
    if (subject === undefined || sequence === undefined) return { refused: 'malformed' };
    claim.order = { subject, sequence };
  }
  // The envelope is ours, made a moment ago: giving it its id costs less than copying it.
  const notification: Notification = Object.assign(envelope, { id });
  return { notification, rawBody: body, keyId, receivedAt, claim };
}
