import {
  headerNames,
  parseSigningKey,
  parseTraceparent,
  signBody,
  signNotification,
  traceparentHeader,
  type SigningKey,
} from '@bestnotify/protocol';
import { authorizationOf, type EndpointAuth } from '../rules/endpoint-headers.js';
import { version } from '../version.js';
import type { TlsSettings } from '../wire/tls-identity.js';

/** The parts of a claimed notification that make its request. */
export interface NotificationParts {
  id: string;
  source: string;
  to: string;
  type: string;
  bizId: string;
  /** Its own URL; null means the endpoint's. */
  url: string | null;
  contentType: string;
  body: Buffer;
  /** Where the merchant's side of its trace goes on from; sent to endpoints that ask for it. */
  traceparent?: string | null;
}

/** The parts of an endpoint that make a request to it. */
export interface EndpointParts {
  url: string | null;
  profile: 'v1' | 'body-hmac';
  allowHttp: boolean;
  allowPrivateNetwork: readonly string[];
  /** Live secrets, oldest first. */
  secrets: readonly { secret: string }[];
  /** Static headers; checked by checkEndpointHeaders when they were stored. */
  headers?: Readonly<Record<string, string>> | null;
  auth?: EndpointAuth | null;
  tls?: TlsSettings | null;
  /** Whether it gets the header `traceparent`. */
  traceparent?: boolean;
}

/** One request, ready for the wire, and what the connection to it must obey. */
export interface ComposedRequest {
  url: string;
  headers: Record<string, string>;
  body: Buffer;
  allowHttp: boolean;
  /** CIDRs. */
  allowPrivateNetwork: readonly string[];
  tls: TlsSettings | undefined;
}

const maxLiveKeys = 5;
const userAgent = `bestnotify/${version}`;

/**
 * Makes the request of one attempt. It is signed anew each time, with every key that is live now.
 *
 * @param attempt.timestampSeconds - the database's time, not this machine's.
 * @param attempt.attemptNumber - which attempt of its round, from 1; a hint for logs, not signed.
 * @throws SecretError (of the protocol) if the endpoint has no usable key: a fault of the set-up, not of the merchant.
 */
export function composeRequest(attempt: {
  notification: NotificationParts;
  endpoint: EndpointParts;
  timestampSeconds: number;
  attemptNumber: number;
}): ComposedRequest {
  const { notification, endpoint } = attempt;
  const body = bodyOnTheWire(notification, endpoint.profile);
  return {
    url: notification.url ?? endpoint.url ?? '',
    headers: withEndpointHeaders(
      attempt,
      endpoint.profile === 'v1' ? signedHeaders(attempt) : bodyHmacHeaders(attempt, body),
    ),
    body,
    allowHttp: endpoint.allowHttp,
    allowPrivateNetwork: endpoint.allowPrivateNetwork,
    tls: endpoint.tls ?? undefined,
  };
}

type Attempt = Parameters<typeof composeRequest>[0];

/** Ours win over the endpoint's own, of which nearly all endpoints have none. */
function withEndpointHeaders(
  { endpoint, notification }: Attempt,
  ours: Record<string, string>,
): Record<string, string> {
  const { headers, auth } = endpoint;
  if (endpoint.traceparent === true && parseTraceparent(notification.traceparent) !== undefined) {
    ours[traceparentHeader] = notification.traceparent ?? '';
  }
  if (!headers && !auth) return ours;
  return { ...headers, ...(auth && { authorization: authorizationOf(auth) }), ...ours };
}

function signedHeaders({ notification, endpoint, timestampSeconds, attemptNumber }: Attempt): Record<string, string> {
  const { id, type, body, contentType } = notification;
  const keys = endpoint.secrets.slice(-maxLiveKeys).map(({ secret }) => signingKey(secret));
  return {
    'content-type': contentType,
    'accept-encoding': 'identity',
    'user-agent': userAgent,
    [headerNames.id]: id,
    [headerNames.timestamp]: String(timestampSeconds),
    [headerNames.signature]: signNotification({ id, timestampSeconds, body, keys }),
    [headerNames.eventType]: type,
    [headerNames.attempt]: String(attemptNumber),
  };
}

/** The profile has one signature. While two keys overlap it is the older one's: the merchant has until its end to learn the new one. */
function bodyHmacHeaders({ notification, endpoint }: Attempt, body: Buffer): Record<string, string> {
  return {
    'content-type': notification.contentType,
    'accept-encoding': 'identity',
    'user-agent': userAgent,
    [headerNames.bodySignature]: signBody(body, endpoint.secrets[0]?.secret ?? ''),
    [headerNames.eventType]: notification.type,
  };
}

/**
 * The body as a request to an endpoint of this profile holds it.
 *
 * @throws TypeError for data that the profile `body-hmac` cannot hold.
 */
export function bodyOnTheWire(
  notification: Pick<NotificationParts, 'id' | 'source' | 'to' | 'type' | 'bizId' | 'body'>,
  profile: EndpointParts['profile'],
): Buffer {
  return profile === 'v1' ? notification.body : bodyHmacBody(notification);
}

/**
 * The profile's body: `data` as it was encoded, with the members `notification_id` and `type` behind it; a raw body unchanged.
 *
 * The envelope ends in `data`, and no string in it can hold an unescaped quote, so the text is cut out and never printed anew.
 */
function bodyHmacBody({ id, source, to, type, bizId, body }: Parameters<typeof bodyOnTheWire>[0]): Buffer {
  const text = body.toString('utf8');
  const start = JSON.stringify({ source, to, type, bizId }).slice(0, -1);
  const at = text.indexOf(',"data":');
  if (!text.startsWith(start) || at < 0) return body;
  const data = text.slice(at + ',"data":'.length, -1).trim();
  if (!data.startsWith('{')) throw new TypeError(`data of ${id} must be an object for the profile body-hmac`);
  const members = data.slice(1, -1).trim();
  const added = JSON.stringify({ notification_id: id, type }).slice(1);
  return Buffer.from(`{${members}${members === '' ? '' : ','}${added}`, 'utf8');
}

const parsedKeys = new Map<string, SigningKey>();
const maxParsedKeys = 10_000;

function signingKey(secret: string): SigningKey {
  const known = parsedKeys.get(secret);
  if (known !== undefined) {
    return known;
  }
  if (parsedKeys.size >= maxParsedKeys) {
    parsedKeys.clear(); // parsing takes microseconds; what matters is that rotation cannot grow this for ever
  }
  const key = parseSigningKey(secret);
  parsedKeys.set(secret, key);
  return key;
}
