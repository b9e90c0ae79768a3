/** What the receiver says about one request, in the header `bestnotify-reason`. */
export type ReplyReason =
  | 'handled'
  | 'duplicate'
  | 'stale'
  | 'ignored'
  | 'in-progress'
  | 'payload-conflict'
  | 'handler-error'
  | 'retry-later'
  | 'store-unavailable'
  | 'invalid-signature'
  | 'stale-timestamp'
  | 'wrong-audience'
  | 'malformed'
  | 'too-large'
  | 'unsupported-encoding'
  | 'body-timeout'
  | 'method-not-allowed'
  | 'raw-body-missing';

/** One row: what the receiver writes, and what the sender makes of it. */
export interface Reply {
  status: number;
  word: 'success' | 'fail';
  /** Whether the receiver adds `retry-after`. */
  retryAfter: boolean;
  sender: 'delivered' | 'retry' | 'dead';
  /** Whether the sender raises an alert: never, on a notification's first such reply, or on each. */
  alert: 'no' | 'first' | 'each';
}

const delivered = { status: 200, word: 'success', retryAfter: false, sender: 'delivered', alert: 'no' } as const;
const retry = { word: 'fail', retryAfter: false, sender: 'retry', alert: 'no' } as const;

/** The table that both sides use. */
export const replies = {
  handled: delivered,
  duplicate: delivered,
  stale: delivered,
  ignored: delivered,
  'in-progress': { ...retry, status: 409, retryAfter: true },
  'payload-conflict': { ...retry, status: 422, sender: 'dead', alert: 'each' },
  'handler-error': { ...retry, status: 500 },
  'retry-later': { ...retry, status: 503, retryAfter: true },
  'store-unavailable': { ...retry, status: 503, retryAfter: true },
  'invalid-signature': { ...retry, status: 401, alert: 'each' },
  'stale-timestamp': { ...retry, status: 401, alert: 'each' },
  'wrong-audience': { ...retry, status: 401, alert: 'each' },
  malformed: { ...retry, status: 400, alert: 'each' },
  'too-large': { ...retry, status: 413, alert: 'first' },
  'unsupported-encoding': { ...retry, status: 415, alert: 'first' },
  'body-timeout': { ...retry, status: 408 },
  'method-not-allowed': { ...retry, status: 405 },
  'raw-body-missing': { ...retry, status: 500 },
} as const satisfies { readonly [R in ReplyReason]: Reply };
