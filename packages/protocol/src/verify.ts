import { createHmac, timingSafeEqual, verify } from 'node:crypto';
import { checkBodySecret } from './body-secret.js';
import { checkBytes } from './bytes.js';
import { SecretError, SignatureError } from './errors.js';
import { headerNames, readHeader, type HeaderBag } from './headers.js';
import { hmac } from './hmac.js';
import { notificationIdPattern } from './notification-id.js';
import type { VerifyingKey } from './secret.js';
import { maxSignatures, signedPrefix } from './sign.js';
import { parseTimestamp, systemClock, toleranceSeconds, toTimestampSeconds } from './time.js';

/** What a genuine notification's headers said. */
export interface VerifiedNotification {
  id: string;
  timestampSeconds: number;
  /** Which of the given keys matched. */
  keyIndex: number;
  version: 'v1' | 'v1a';
}

/**
 * Checks that these exact bytes were signed by the holder of one of the keys, and recently.
 *
 * The time is judged only after a signature has matched, so `too-old` and `too-new` speak of genuine notifications.
 *
 * @param input.body - the raw bytes of the request, before any parser.
 * @param input.now - the receiver's time; default the machine's clock.
 * @param input.toleranceSeconds - allowed distance on both sides, inclusive; default 300.
 * @throws {@link SignatureError} for whatever is wrong with the request; {@link SecretError} when no key was given.
 */
export function verifyNotification(input: {
  headers: HeaderBag;
  body: Uint8Array;
  keys: readonly VerifyingKey[];
  now?: Date;
  toleranceSeconds?: number;
}): VerifiedNotification {
  const { headers, body, keys } = input;
  checkBytes(body);
  if (keys.length === 0) throw new SecretError({ problem: 'list is empty; without a key nothing can be verified' });
  const id = requireHeader(headers, headerNames.id);
  const timestamp = requireHeader(headers, headerNames.timestamp);
  const signature = requireHeader(headers, headerNames.signature);
  if (!notificationIdPattern.test(id))
    throw malformed(headerNames.id, 'must be 1 to 128 characters of A-Z a-z 0-9 _ -');
  const timestampSeconds = parseTimestamp(timestamp);
  if (timestampSeconds === undefined) throw malformed(headerNames.timestamp, 'must be unix seconds of 1 to 12 digits');
  const match = findMatch(parseSignatures(signature), { keys, prefix: signedPrefix(id, timestamp), body });
  checkFreshness(timestampSeconds, input.now ?? systemClock(), input.toleranceSeconds ?? toleranceSeconds);
  return { id, timestampSeconds, keyIndex: match.keyIndex, version: match.version };
}

/**
 * Profile `body-hmac`: checks `x-signature` over the body alone. Such a request can be replayed for ever; choose the profile knowingly.
 *
 * @param input.secrets - plain strings of at least 16 bytes.
 */
export function verifyBody(input: { headers: HeaderBag; body: Uint8Array; secrets: readonly string[] }): {
  keyIndex: number;
} {
  const { headers, body, secrets } = input;
  checkBytes(body);
  if (secrets.length === 0) throw new SecretError({ problem: 'list is empty; without a key nothing can be verified' });
  const given = requireHeader(headers, headerNames.bodySignature);
  if (!/^[0-9a-f]{64}$/.test(given)) throw malformed(headerNames.bodySignature, 'must be 64 lower-case hex digits');
  const signature = Buffer.from(given, 'hex');
  for (const [keyIndex, secret] of secrets.entries()) {
    checkBodySecret(secret);
    if (timingSafeEqual(createHmac('sha256', secret).update(body).digest(), signature)) return { keyIndex };
  }
  throw noMatch(headerNames.bodySignature);
}

interface GivenSignatures {
  v1: string[];
  v1a: string[];
}

// Canonical base64 of 32 and 64 bytes: the last character's unused bits are zero.
const v1Pattern = /^v1,[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;
const v1aPattern = /^v1a,[A-Za-z0-9+/]{85}[AQgw]==$/;
const unknownPattern = /^v[0-9]+[a-z]*,[\x21-\x7e]+$/;

/** Entries of versions we do not know are skipped, so that a later version can be added beside these. */
function parseSignatures(header: string): GivenSignatures {
  const entries = header.split(' ', maxSignatures + 1);
  if (entries.length > maxSignatures) throw malformed(headerNames.signature, `has more than ${maxSignatures} entries`);
  const given: GivenSignatures = { v1: [], v1a: [] };
  for (const entry of entries) {
    if (v1Pattern.test(entry)) given.v1.push(entry.slice(3));
    else if (v1aPattern.test(entry)) given.v1a.push(entry.slice(4));
    else if (entry.startsWith('v1,') || entry.startsWith('v1a,') || !unknownPattern.test(entry)) {
      throw malformed(
        headerNames.signature,
        'must be a list of v1,<base64> or v1a,<base64>, separated by single spaces',
      );
    }
  }
  return given;
}

function findMatch(
  given: GivenSignatures,
  signed: { keys: readonly VerifyingKey[]; prefix: string; body: Uint8Array },
): { keyIndex: number; version: 'v1' | 'v1a' } {
  const { keys, prefix, body } = signed;
  for (let keyIndex = 0; keyIndex < keys.length; keyIndex++) {
    const key = keys[keyIndex] as VerifyingKey;
    if (key.algorithm === 'hmac') {
      if (given.v1.length > 0 && hmacMatches(given.v1, key, prefix, body)) return { keyIndex, version: 'v1' };
    } else if (given.v1a.length > 0 && ed25519Matches(given.v1a, key, prefix, body))
      return { keyIndex, version: 'v1a' };
  }
  throw noMatch(headerNames.signature);
}

function hmacMatches(given: readonly string[], { key }: VerifyingKey, prefix: string, body: Uint8Array): boolean {
  const expected = Buffer.from(hmac(key, prefix, body, 'binary'), 'latin1');
  return given.some((signature) => timingSafeEqual(expected, Buffer.from(signature, 'base64')));
}

function ed25519Matches(given: readonly string[], { key }: VerifyingKey, prefix: string, body: Uint8Array): boolean {
  const content = Buffer.concat([Buffer.from(prefix), body]);
  return given.some((signature) => verify(null, content, key, Buffer.from(signature, 'base64')));
}

function checkFreshness(timestampSeconds: number, now: Date, tolerance: number): void {
  const skewSeconds = toTimestampSeconds(now) - timestampSeconds;
  if (Math.abs(skewSeconds) <= tolerance) return; // written so that NaN refuses
  const isOld = skewSeconds > 0;
  throw new SignatureError({
    reason: isOld ? 'too-old' : 'too-new',
    header: headerNames.timestamp,
    problem: `is ${Math.abs(skewSeconds)} s ${isOld ? 'before' : 'after'} this machine's time (${timestampSeconds} against ${toTimestampSeconds(now)}); ${tolerance} s are allowed`,
    skewSeconds,
  });
}

function requireHeader(headers: HeaderBag, name: string): string {
  const value = readHeader(headers, name);
  if (value === undefined || value === '') {
    throw new SignatureError({ reason: 'missing', header: name, problem: 'is missing' });
  }
  return value;
}

function malformed(header: string, problem: string): SignatureError {
  return new SignatureError({ reason: 'malformed', header, problem });
}

function noMatch(header: string): SignatureError {
  return new SignatureError({
    reason: 'no-match',
    header,
    problem: 'matches none of the keys for these bytes: another key, a changed body, or another id or timestamp',
  });
}
