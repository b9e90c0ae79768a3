import type { SignatureError } from '@bestnotify/protocol';
import {
  headerNames,
  readHeader,
  notificationIdPattern,
  verifyBody,
  verifyNotification,
  type HeaderBag,
} from '@bestnotify/protocol';
import type { ResolvedOptions } from '../options.js';
import type { KeyRing } from '../secrets.js';

/** What a genuine request is known by. */
export interface Genuine {
  id: string;
  keyId: string;
}

/**
 * Checks the signature over the exact bytes, then the time.
 *
 * @throws SignatureError for everything that is wrong with it.
 */
export function checkSignature(body: Buffer, headers: HeaderBag, ring: KeyRing, options: ResolvedOptions): Genuine {
  if (options.profile === 'body-hmac') {
    const { keyIndex } = verifyBody({ headers, body, secrets: ring.plain });
    return { id: hintedId(headers), keyId: ring.ids[keyIndex] ?? '' };
  }
  const { id, keyIndex } = verifyNotification({
    headers,
    body,
    keys: ring.keys,
    now: options.clock(),
    toleranceSeconds: options.toleranceSeconds,
  });
  return { id, keyId: ring.ids[keyIndex] ?? '' };
}

/** The old profile signs no id; what came is kept for logs only. */
function hintedId(headers: HeaderBag): string {
  const given = readHeader(headers, headerNames.id) ?? '';
  return notificationIdPattern.test(given) ? given : '';
}

export function isSignatureError(error: unknown): error is SignatureError {
  return error instanceof Error && error.name === 'SignatureError';
}
