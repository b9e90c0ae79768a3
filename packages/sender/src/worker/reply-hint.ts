import { nearMissHint, replies, type ReplyReason } from '@bestnotify/protocol';
import type { Outcome } from './outcome.js';

type Replied = Extract<Outcome, { kind: 'replied' }>;

/** What comes next after a refusal of our own receiver, for the reasons of which somebody has to do something. */
const receiverHints: ReadonlyMap<string | undefined, string> = new Map<ReplyReason, string>([
  ['handler-error', 'their handler threw, or took too long: their onError or log says why'],
  ['store-unavailable', 'their Redis or PostgreSQL was away or too slow; it is retried meanwhile'],
  [
    'invalid-signature',
    'the merchant verifies with another secret, or the request was changed on its way: give them the secret of this endpoint again, or examine a captured request with bestnotify verify',
  ],
  ['stale-timestamp', "the merchant's clock is off, or something held the request back: check NTP on their hosts"],
  ['wrong-audience', "their receiver's source or to differs: it must be this sender's source and this endpoint's id"],
  [
    'malformed',
    'the signature is right, but their receiver does not know the event by this body: their onInvalid says why',
  ],
  ['too-large', "the body is larger than their receiver's maxBodyBytes"],
  ['unsupported-encoding', 'something on the way compressed the body or gave it another charset'],
  ['body-timeout', "the body did not arrive within their receiver's bodyTimeoutMs: look at what is in front of it"],
  ['method-not-allowed', 'it arrived as another method than POST: look at what is in front of their receiver'],
  [
    'raw-body-missing',
    'a body parser runs before their receiver: mount the receiver first, or keep the bytes with captureRawBody',
  ],
]);

/** What a merchant should change about a reply that was meant well, or `undefined`. Quotes nothing of the body. */
export function hintFor(reply: Replied, ack: string): string | undefined {
  const { status } = reply;
  if (status >= 300 && status <= 399) {
    const where = reply.location === undefined ? '' : ` (this one leads to ${reply.location})`;
    return `redirects are not followed${where}; register the final URL`;
  }
  if (status >= 200 && status <= 299) {
    return transferHint(reply) ?? (ack === 'success' ? lettersHint(reply.body) : undefined) ?? nearMiss(reply, ack);
  }
  return nearMiss(reply, ack) ?? receiverHint(reply);
}

/** The same for a reply that was not whole, of which only the status is sure. */
export function hintForStatus(status: number | undefined): string | undefined {
  return status === 204 || status === 205 ? nearMissHint('success', { status, body: Buffer.alloc(0) }) : undefined;
}

/** Only if status and reason belong together: anybody can send one of the two. */
function receiverHint({ status, reason }: Replied): string | undefined {
  const hint = receiverHints.get(reason);
  return hint !== undefined && replies[reason as ReplyReason].status === status ? hint : undefined;
}

function nearMiss(reply: Replied, ack: string): string | undefined {
  return ack === 'success' || ack === 'status' || ack === 'json-code' ? nearMissHint(ack, reply) : undefined;
}

/** What went wrong on the way, which the merchant's own test with a browser does not show. */
function transferHint(reply: Replied): string | undefined {
  if (reply.truncated) {
    return 'the body was longer than 64 KiB; reply with the bare word';
  }
  if (reply.contentEncoding !== undefined && reply.contentEncoding.toLowerCase() !== 'identity') {
    return 'the body was compressed although the request asked for identity; send it as it is';
  }
  if (reply.body.length === 0 && reply.contentLength?.trim() === '0' && reply.status !== 204 && reply.status !== 205) {
    return 'your server sent Content-Length: 0; reply with the word as the body, and its length';
  }
  return undefined;
}

/** The word in letters that look like it, or with invisible ones around it. */
function lettersHint(body: Buffer): string | undefined {
  if (body.length > 256) {
    return undefined;
  }
  const text = body.toString('utf8');
  if (/^\s*success\0+\s*$/i.test(text)) {
    return 'the body was the word and a NUL byte; reply with the 7 ASCII bytes success';
  }
  if (/^\s*fail(?:ed|ure)?\s*$/i.test(text)) {
    return 'the receiver said fail with a 2xx status; it is retried, and a status outside 2xx would say it to every sender';
  }
  const plain = text
    .replace(/\p{C}|(?! )\p{Z}/gu, '')
    .normalize('NFKC')
    .trim();
  return plain.toLowerCase() === 'success'
    ? 'the body was the word in full-width letters or with invisible characters; reply with the 7 ASCII bytes success'
    : undefined;
}
