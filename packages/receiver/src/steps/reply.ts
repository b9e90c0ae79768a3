import { validateHeaderValue } from 'node:http';
import { acknowledgement, headerNames, replies, type ReplyReason } from '@bestnotify/protocol';
import { ConfigurationError } from '../errors.js';
import type { ReceiverReply } from '../notification.js';

/** What a writer of its own is told. */
export interface ReplyFacts {
  word: 'success' | 'fail';
  reason: ReplyReason;
  status: number;
}

/**
 * How the two words are written: bare, as `{"code":"SUCCESS"}`, or by a function for platforms that want XML or the like. The status
 * and the headers stay ours.
 */
export type ReplyFormat =
  'success' | 'json-code' | ((facts: ReplyFacts) => { contentType: string; body: string | Uint8Array });

/** Writes one row of the reply table. */
export type WriteReply = (reason: ReplyReason, retryAfterMs?: number) => ReceiverReply;

/** Every row is written once and reused; only `retry-after` differs between two of the same reason. */
export function replyWriter(format: ReplyFormat): WriteReply {
  const rows = new Map<ReplyReason, ReceiverReply>();
  for (const reason of Object.keys(replies) as ReplyReason[]) rows.set(reason, compose(format, reason));
  return (reason, retryAfterMs) => {
    const row = rows.get(reason) as ReceiverReply;
    if (!replies[reason].retryAfter) return row;
    const seconds = Math.max(1, Math.ceil((retryAfterMs ?? 1_000) / 1_000));
    return { ...row, headers: { ...row.headers, 'retry-after': String(seconds) } };
  };
}

function compose(format: ReplyFormat, reason: ReplyReason): ReceiverReply {
  const { status, word } = replies[reason];
  const { contentType, body } = render(format, { status, word, reason });
  const headers: Record<string, string> = {
    'content-type': contentType,
    'content-length': String(body.byteLength),
    'cache-control': 'no-store',
    [headerNames.reason]: reason,
  };
  if (reason === 'method-not-allowed') headers['allow'] = 'POST';
  // Shared by every answer of this row.
  return Object.freeze({ status, headers: Object.freeze(headers), body });
}

function render(format: ReplyFormat, facts: ReplyFacts): { contentType: string; body: Buffer } {
  if (typeof format !== 'function') return acknowledgement(format, facts.word);
  try {
    const { contentType, body } = format(facts);
    validateHeaderValue('content-type', contentType);
    return { contentType, body: Buffer.from(body) };
  } catch (cause) {
    const problem = `must return { contentType, body } for ${facts.reason}`;
    throw new ConfigurationError({ option: 'replyFormat', problem, cause });
  }
}
