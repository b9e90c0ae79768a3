import { nearMissHint } from '@bestnotify/protocol';
import type { Outcome } from './outcome.js';

type Replied = Extract<Outcome, { kind: 'replied' }>;

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
  return nearMiss(reply, ack);
}

/** The same for a reply that was not whole, of which only the status is sure. */
export function hintForStatus(status: number | undefined): string | undefined {
  return status === 204 || status === 205 ? nearMissHint('success', { status, body: Buffer.alloc(0) }) : undefined;
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
