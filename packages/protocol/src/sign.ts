import { createHmac, sign } from 'node:crypto';
import { checkBodySecret } from './body-secret.js';
import { checkBytes } from './bytes.js';
import { SecretError, SignatureError } from './errors.js';
import { headerNames } from './headers.js';
import { hmac } from './hmac.js';
import { notificationIdPattern } from './notification-id.js';
import type { SigningKey } from './secret.js';

/** Most entries that `webhook-signature` may have. */
export const maxSignatures = 10;

/** What is signed before the body: the id and the time of this attempt, each followed by a dot. */
export function signedPrefix(id: string, timestamp: string): string {
  return `${id}.${timestamp}.`;
}

/**
 * Signs one attempt with every live key: the value of `webhook-signature`, one entry per key in the order given.
 *
 * @param input.body - the exact bytes that will be sent.
 * @throws {@link SecretError} without a key or with more than 10; {@link SignatureError} if the id or the time is outside its grammar.
 */
export function signNotification(input: {
  id: string;
  timestampSeconds: number;
  body: Uint8Array;
  keys: readonly SigningKey[];
}): string {
  const { id, timestampSeconds, body, keys } = input;
  checkBytes(body);
  if (!notificationIdPattern.test(id))
    throw malformed(headerNames.id, 'must be 1 to 128 characters of A-Z a-z 0-9 _ -');
  if (!Number.isInteger(timestampSeconds) || timestampSeconds < 1 || timestampSeconds > 999_999_999_999) {
    throw malformed(headerNames.timestamp, 'must be unix seconds of 1 to 12 digits');
  }
  if (keys.length === 0 || keys.length > maxSignatures) {
    throw new SecretError({ problem: `list must hold 1 to ${maxSignatures} keys, not ${keys.length}` });
  }
  const prefix = signedPrefix(id, String(timestampSeconds));
  let header = '';
  for (const key of keys) {
    if (header !== '') header += ' ';
    header +=
      key.algorithm === 'hmac'
        ? `v1,${hmac(key.key, prefix, body, 'base64')}`
        : `v1a,${ed25519Signature(key, prefix, body)}`;
  }
  return header;
}

/** Profile `body-hmac`: the value of `x-signature`, lower-case hex HMAC-SHA256 of the body alone. It carries no time: it can be replayed. */
export function signBody(body: Uint8Array, secret: string): string {
  checkBytes(body);
  checkBodySecret(secret);
  return createHmac('sha256', secret).update(body).digest('hex');
}

function ed25519Signature({ key }: SigningKey, prefix: string, body: Uint8Array): string {
  return sign(null, Buffer.concat([Buffer.from(prefix), body]), key).toString('base64');
}

function malformed(header: string, problem: string): SignatureError {
  return new SignatureError({ reason: 'malformed', header, problem });
}
