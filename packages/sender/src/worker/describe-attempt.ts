import { removeSecrets } from '@bestnotify/protocol';
import { describeUrl } from '../rules/urls.js';
import type { Judgement, Outcome } from './outcome.js';

/** What the attempt log keeps of one attempt. Holds no secret, no signature and no URL query. */
export interface AttemptFacts {
  outcome: 'acknowledged' | 'refused' | 'no-answer' | 'not-sent' | 'aborted' | 'internal';
  status: number | null;
  /** The reason of a delivery, else why not. */
  because: string;
  hint: string | null;
  error: string | null;
  /** The first bytes of the reply, in hex: bytes, because a reply need not be text. */
  snippetHex: string | null;
  /** Origin and path only. */
  url: string;
}

const maxSnippetBytes = 1024;
const maxErrorLength = 500;

/** @param options.keepsSnippet - whether the reply's beginning is stored at all. @default true */
export function describeAttempt(
  outcome: Outcome,
  judgement: Judgement,
  options: { url: string; keepsSnippet?: boolean },
): AttemptFacts {
  const { url, keepsSnippet = true } = options;
  const body = 'body' in outcome ? outcome.body : undefined;
  return {
    outcome: outcome.kind === 'replied' ? (judgement.kind === 'delivered' ? 'acknowledged' : 'refused') : outcome.kind,
    status: 'status' in outcome ? outcome.status : null,
    because: judgement.kind === 'delivered' ? judgement.reason : judgement.because,
    hint: judgement.kind === 'retry' ? (judgement.hint ?? null) : null,
    error: 'error' in outcome ? cleanText(outcome.error) : null,
    snippetHex: keepsSnippet && body !== undefined ? snippetOf(body).toString('hex') : null,
    url: described(url),
  };
}

const describedUrls = new Map<string, string>();

/** Nearly every attempt goes to a URL that was described before. */
function described(url: string): string {
  const known = describedUrls.get(url);
  if (known !== undefined) return known;
  if (describedUrls.size >= 1000) describedUrls.clear();
  const text = describeUrl(url);
  describedUrls.set(url, text);
  return text;
}

/** A text for the log: one line, valid in every encoding and in PostgreSQL, without secrets. */
export function cleanText(text: string): string {
  const line = removeSecrets(text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')).slice(0, maxErrorLength);
  return line.replace(/\p{Cs}/gu, '\ufffd'); // also the half of a character that the cut may leave
}

/** The first KiB of a reply. Debug pages like to print the request back, so what looks like a secret is removed. */
export function snippetOf(body: Buffer): Buffer {
  if (body.length <= 16) {
    return body; // too short to hold a secret; nearly every reply is 7 bytes
  }
  // Secrets are removed before the cut, or one that straddles it would be half kept. Latin-1 maps bytes to characters one to one.
  const cleaned = Buffer.from(removeSecrets(body.toString('latin1', 0, 2 * maxSnippetBytes)), 'latin1');
  return cleaned.length <= maxSnippetBytes ? cleaned : cleaned.subarray(0, wholeCharacters(cleaned, maxSnippetBytes));
}

/** The largest length up to `limit` that does not end inside a UTF-8 character. */
function wholeCharacters(bytes: Buffer, limit: number): number {
  let end = limit;
  while (end > limit - 4 && isContinuation(bytes[end])) {
    end -= 1;
  }
  return isContinuation(bytes[end]) ? limit : end;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
