import type { ClaimRequest, NotificationKey } from './store.js';

const plain = /^[A-Za-z0-9_.~-]*$/;

/** Most ids need no escaping, and the test is cheaper than the work. */
function encode(part: string): string {
  return plain.test(part) ? part : encodeURIComponent(part);
}

/**
 * One readable name per key. Every part is percent-encoded, so that no part can contain the `:` between them, nor the braces of a
 * Cluster hash tag. Under the ordering guard the tag is on the subject, so that record and guard live in one slot.
 */
export function recordName(prefix: string, key: NotificationKey, subject?: string): string {
  const owner = `${encode(key.source)}:${encode(key.to)}`;
  if (subject === undefined) return `${prefix}:{${owner}:${encode(key.bizId)}}:${encode(key.type)}`;
  return `${prefix}:{${owner}:subject:${encode(subject)}}:${encode(key.type)}:${encode(key.bizId)}`;
}

/** The name of the guard that all ordered types of one subject share. `#` cannot start an encoded type. */
export function guardName(prefix: string, key: NotificationKey, subject: string): string {
  return `${prefix}:{${encode(key.source)}:${encode(key.to)}:subject:${encode(subject)}}:#latest`;
}

/** The names one request touches: its record, and its guard if it is ordered. */
export function namesOf(prefix: string, request: ClaimRequest): { record: string; guard: string | undefined } {
  const { key, order } = request;
  return {
    record: recordName(prefix, key, order?.subject),
    guard: order === undefined ? undefined : guardName(prefix, key, order.subject),
  };
}
