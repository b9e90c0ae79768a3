import {
  headerNames,
  maskSecret,
  notificationIdPattern,
  parseTimestamp,
  parseVerifyingKey,
  SignatureError,
  toleranceSeconds,
  toTimestampSeconds,
  verifyNotification,
} from '@bestnotify/protocol';
import { firstDifference, likelyChanges } from './likely-changes.js';

/** One thing that was checked. */
export interface Check {
  check: 'headers' | 'id' | 'time' | 'key' | 'bytes' | 'audience';
  result: 'ok' | 'fail' | 'unknown';
  message: string;
}

export interface CapturedRequest {
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  secrets: readonly string[];
  /** The body as the sender has it, where somebody kept it. */
  original?: Buffer;
  now: Date;
}

/**
 * Finds out which part of a request keeps it from being genuine: its id, its time, the key, or the bytes.
 *
 * One signature covers id, time and bytes under a key, so a mismatch alone does not say which of them differs. What can be tried is
 * tried: the usual damages of bytes, the usual mistakes with times and secrets, and the original body where there is one.
 */
export function examineRequest(request: CapturedRequest): Check[] {
  const { headers, body, original } = request;
  const missing = [headerNames.id, headerNames.timestamp, headerNames.signature].filter((name) => !headers[name]);
  if (missing.length > 0) {
    return [{ check: 'headers', result: 'fail', message: `${missing.join(', ')} missing: did a proxy remove them?` }];
  }
  const checks: Check[] = [checkHeaders(request), checkId(headers[headerNames.id] ?? ''), checkTime(request)];
  const key = matches(request, body);
  if (key !== undefined) {
    return [
      ...checks,
      { check: 'key', result: 'ok', message: `signed with ${maskSecret(key)}` },
      { check: 'bytes', result: 'ok', message: `${body.byteLength} bytes are what was signed` },
    ];
  }
  const change = likelyChanges(body).find(({ bytes }) => matches(request, bytes) !== undefined);
  if (change !== undefined) return [...checks, ...bytesAtFault(`they match after this: ${change.what}`)];
  if (original !== undefined) return [...checks, ...judgeByOriginal(request, original)];
  return [...checks, ...eitherAtFault(request)];
}

function checkHeaders({ headers }: CapturedRequest): Check {
  const repeated = [headerNames.id, headerNames.timestamp, headerNames.signature].find((name) =>
    headers[name]?.includes(', '),
  );
  if (repeated !== undefined) return { check: 'headers', result: 'fail', message: `${repeated} came more than once` };
  return { check: 'headers', result: 'ok', message: 'all three are there' };
}

function checkId(id: string): Check {
  const isId = notificationIdPattern.test(id);
  return {
    check: 'id',
    result: isId ? 'ok' : 'fail',
    message: isId ? id : 'must be 1 to 128 characters of A-Z a-z 0-9 _ -',
  };
}

function checkTime({ headers, now }: CapturedRequest): Check {
  const text = headers[headerNames.timestamp] ?? '';
  const seconds = parseTimestamp(text);
  if (seconds === undefined)
    return { check: 'time', result: 'fail', message: 'must be unix seconds of 1 to 12 digits' };
  if (seconds > 100_000_000_000)
    return { check: 'time', result: 'fail', message: `${text} looks like milliseconds; it must be seconds` };
  const skew = toTimestampSeconds(now) - seconds;
  const message = `${Math.abs(skew)} s ${skew >= 0 ? 'before' : 'after'} the time it is compared with; ${toleranceSeconds} s are allowed`;
  return { check: 'time', result: Math.abs(skew) <= toleranceSeconds ? 'ok' : 'fail', message };
}

/** The secret under which these bytes are signed, whatever the time. */
function matches({ headers, secrets }: CapturedRequest, body: Uint8Array): string | undefined {
  const atSeconds = parseTimestamp(headers[headerNames.timestamp] ?? '');
  if (atSeconds === undefined) return undefined;
  try {
    const keys = secrets.map((secret) => parseVerifyingKey(secret));
    return secrets[verifyNotification({ headers, body, keys, now: new Date(atSeconds * 1000) }).keyIndex];
  } catch (error) {
    if (error instanceof SignatureError) return undefined;
    throw error;
  }
}

function judgeByOriginal(request: CapturedRequest, original: Buffer): Check[] {
  const at = firstDifference(request.body, original);
  if (matches(request, original) !== undefined) {
    return bytesAtFault(
      `the original verifies and this body differs from byte ${at ?? 0} on (${request.body.byteLength} against ${original.byteLength} bytes)`,
    );
  }
  const shown = request.secrets.map(maskSecret).join(', ');
  const bytes: Check =
    at === undefined
      ? { check: 'bytes', result: 'ok', message: 'the same as the original' }
      : { check: 'bytes', result: 'fail', message: `differ from the original from byte ${at} on` };
  return [
    {
      check: 'key',
      result: 'fail',
      message: `not even the original verifies with ${shown}: it was signed with another key, or for another id or time`,
    },
    bytes,
  ];
}

function bytesAtFault(what: string): Check[] {
  return [
    { check: 'key', result: 'ok', message: 'the key is right' },
    { check: 'bytes', result: 'fail', message: `${what}. Verify the raw body, before any parser or proxy touches it` },
  ];
}

function eitherAtFault({ secrets }: CapturedRequest): Check[] {
  const shown = secrets.map(maskSecret).join(', ');
  const message = `the signature does not match ${shown}`;
  return [
    {
      check: 'key',
      result: 'unknown',
      message: `${message}: compare the secret with the one the platform has for you`,
    },
    {
      check: 'bytes',
      result: 'unknown',
      message: 'or the body, id or time was changed: give the sent body with --original to tell which',
    },
  ];
}
