import {
  encodeEnvelope,
  headerNames,
  isAcknowledged,
  newNotificationId,
  parseSigningKey,
  signBody,
  signNotification,
  systemClock,
  toTimestampSeconds,
  type AckRule,
  type Envelope,
} from '@bestnotify/protocol';
import type { Receiver } from './receiver.js';
import type { ReceiverReply } from './notification.js';

/** What a test wants to have sent. */
export interface SignedRequestOptions {
  /** `whsec_…` or `whsk_…`; several sign with each. For `body-hmac` a plain string. */
  secret: string | readonly string[];
  event: Omit<Envelope, 'data'> & { data?: unknown };
  /** Default: a fresh one. Give the same for a repeat. */
  id?: string;
  /** Default: now. */
  at?: Date;
  /** Bytes to send instead of the envelope. */
  body?: Uint8Array | string;
  profile?: 'v1' | 'body-hmac';
  headers?: Record<string, string>;
}

export interface SignedRequest {
  method: 'POST';
  headers: Record<string, string>;
  body: Buffer;
}

/** One genuine notification as it would arrive, for `receiver.handle`, `fetch` or a framework's own test client. */
export function signedRequest(options: SignedRequestOptions): SignedRequest {
  const at = options.at ?? systemClock();
  const { event, profile = 'v1' } = options;
  const secrets = typeof options.secret === 'string' ? [options.secret] : options.secret;
  const id = options.id ?? newNotificationId(at.getTime());
  const body = bodyOf(options, id);
  const headers: Record<string, string> = { 'content-type': 'application/json', [headerNames.eventType]: event.type };
  if (profile === 'body-hmac') {
    headers[headerNames.bodySignature] = signBody(body, secrets[0] ?? '');
  } else {
    const timestampSeconds = toTimestampSeconds(at);
    const keys = secrets.map((secret) => parseSigningKey(secret));
    headers[headerNames.id] = id;
    headers[headerNames.timestamp] = String(timestampSeconds);
    headers[headerNames.signature] = signNotification({ id, timestampSeconds, body, keys });
  }
  return { method: 'POST', headers: { ...headers, ...options.headers }, body };
}

function bodyOf({ body, event, profile }: SignedRequestOptions, id: string): Buffer {
  if (body !== undefined) return Buffer.from(body);
  const { data = {} } = event;
  if (profile !== 'body-hmac') return encodeEnvelope({ ...event, data });
  return Buffer.from(JSON.stringify({ ...(data as object), notification_id: id, type: event.type }));
}

export interface ScriptedSenderOptions {
  /** A receiver in this process, or where one listens. */
  target: Receiver | string | URL;
  secret: string | readonly string[];
  source: string;
  to: string;
  /** What counts as a yes. @default 'success' */
  ack?: AckRule;
  /** Most attempts for one notification. @default 10 */
  maxAttempts?: number;
  /** Wait between two attempts, in ms. @default 0 */
  gapMs?: number;
}

export interface ScriptedDelivery {
  delivered: boolean;
  /** Every answer, in order; an attempt without one is `undefined`. */
  replies: (ReceiverReply | undefined)[];
}

/** Sends as the platform would: signs every attempt anew and repeats until the word comes, so that a test can play a whole story. */
export function scriptedSender(options: ScriptedSenderOptions) {
  const { source, to, secret, target, ack = 'success', maxAttempts = 10, gapMs = 0 } = options;
  const once = (event: ScriptedEvent, id?: string): Promise<ReceiverReply | undefined> => {
    const request = signedRequest({ secret, event: { source, to, ...event }, ...(id === undefined ? {} : { id }) });
    return send(target, request);
  };
  return {
    /** One attempt. */
    once,
    /** Attempts under one id until it is acknowledged or given up. */
    async deliver(event: ScriptedEvent): Promise<ScriptedDelivery> {
      const id = newNotificationId(systemClock().getTime());
      const replies: (ReceiverReply | undefined)[] = [];
      while (replies.length < maxAttempts) {
        if (replies.length > 0 && gapMs > 0) await new Promise((resolve) => setTimeout(resolve, gapMs));
        const reply = await once(event, id);
        replies.push(reply);
        if (reply !== undefined && isAcknowledged(ack, reply)) return { delivered: true, replies };
      }
      return { delivered: false, replies };
    },
  };
}

export type ScriptedEvent = Omit<Envelope, 'source' | 'to' | 'data'> & { data?: unknown };

async function send(target: Receiver | string | URL, request: SignedRequest): Promise<ReceiverReply | undefined> {
  if (typeof target === 'object' && 'handle' in target) return target.handle(request);
  try {
    const response = await fetch(target, { ...request, redirect: 'manual' });
    const body = Buffer.from(await response.arrayBuffer());
    return { status: response.status, headers: Object.fromEntries(response.headers), body };
  } catch {
    return undefined;
  }
}
