import { parseJson, startsWithBom } from './json.js';

/** What counts as acknowledged at an endpoint, beside a 2xx status: the bare word, the status alone, or `{"code":"SUCCESS"}`. */
export type AckRule = 'success' | 'status' | 'json-code';

/** The parts of a response that decide. */
export interface GivenReply {
  status: number;
  body: Uint8Array;
}

/** Whether this reply acknowledges the notification. A redirect never does. Bodies that were cut off must not be passed. */
export function isAcknowledged(rule: AckRule, reply: GivenReply): boolean {
  if (!isSuccessStatus(reply.status)) return false;
  switch (rule) {
    case 'success':
      return isWord(reply.body, 'success');
    case 'status':
      return true;
    case 'json-code':
      return isSuccessCode(readCode(reply.body));
    default:
      return rule satisfies never;
  }
}

/** What a receiver answers under a rule. */
export function acknowledgement(rule: AckRule, word: 'success' | 'fail'): { contentType: string; body: Buffer } {
  if (rule !== 'json-code') return { contentType: 'text/plain', body: Buffer.from(word) };
  return { contentType: 'application/json', body: Buffer.from(`{"code":"${word.toUpperCase()}"}`) };
}

export function isSuccessStatus(status: number): boolean {
  return status >= 200 && status <= 299;
}

/**
 * The word in any ASCII case, after one leading byte order mark and surrounding space, tab, CR and LF.
 *
 * @param word - lower-case ASCII letters.
 */
export function isWord(body: Uint8Array, word: string): boolean {
  const core = trim(body);
  if (core.length !== word.length) return false;
  // Setting bit 5 makes a letter lower-case, and makes no letter of anything else that could match one.
  return core.every((byte, at) => (byte | 0x20) === word.charCodeAt(at));
}

/** The body without one leading byte order mark and without surrounding ASCII white space. */
export function trim(body: Uint8Array): Uint8Array {
  let start = startsWithBom(body) ? 3 : 0;
  let end = body.length;
  while (start < end && isSpace(body[start])) start++;
  while (end > start && isSpace(body[end - 1])) end--;
  return body.subarray(start, end);
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a;
}

/** The member `code` of a JSON object, or `undefined`. */
export function readCode(body: Uint8Array): unknown {
  const parsed = parseJson(trim(body));
  if ('problem' in parsed || typeof parsed.value !== 'object' || parsed.value === null) return undefined;
  return Object.hasOwn(parsed.value, 'code') ? (parsed.value as { code: unknown }).code : undefined;
}

function isSuccessCode(code: unknown): boolean {
  return code === 'SUCCESS' || code === 0;
}
