import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cleanText, describeAttempt, snippetOf } from '../src/worker/describe-attempt.js';
import type { Outcome } from '../src/worker/outcome.js';

const url = 'https://user:hunter2@merchant.example/notify?token=s3cret#x';

function reply(body: Buffer, status = 500): Outcome {
  const headers = { retryAfter: undefined, reason: undefined, location: undefined, contentLength: undefined };
  return { kind: 'replied', status, ...headers, contentEncoding: undefined, body, truncated: false, durationMs: 1 };
}

test('a delivery keeps its reason, a refusal its status, hint and first bytes', () => {
  expect(
    describeAttempt(
      reply(Buffer.from('success'), 200),
      { kind: 'delivered', reason: 'duplicate', countsForBreaker: false },
      { url },
    ),
  ).toEqual({
    outcome: 'acknowledged',
    status: 200,
    because: 'duplicate',
    hint: null,
    error: null,
    snippetHex: Buffer.from('success').toString('hex'),
    url: 'https://merchant.example/notify',
  });
  expect(
    describeAttempt(
      reply(Buffer.from('no')),
      { kind: 'retry', because: 'status-500', hint: 'try this', countsForBreaker: true },
      { url, keepsSnippet: false },
    ),
  ).toMatchObject({ outcome: 'refused', status: 500, because: 'status-500', hint: 'try this', snippetHex: null });
});

test('R098 half a reply is kept in the log of an attempt without an answer', () => {
  const outcome: Outcome = { kind: 'no-answer', error: 'reset', durationMs: 1, status: 200, body: Buffer.from('succ') };
  const facts = describeAttempt(outcome, { kind: 'retry', because: 'no-answer', countsForBreaker: true }, { url });
  expect(facts).toMatchObject({
    outcome: 'no-answer',
    status: 200,
    error: 'reset',
    snippetHex: Buffer.from('succ').toString('hex'),
  });
});

test.each([
  ['a signature', `webhook-signature: v1,${'A'.repeat(42)}+=`],
  ['two signatures', `v1,${'A'.repeat(43)}= v1a,${'A'.repeat(86)}==`],
  ['a signature escaped in JSON', `{"webhook-signature":"v1,AAAAAAAAAAAA\\/AAAAAAAAAAAAAAAAAAAA"}`],
  ['a signature in a URL', `x=v1%2CAAAAAAAAAAAA%2FAAAAAAAAAAAAAAAAAAAA`],
  ['a body-hmac signature', 'X-Signature: ' + 'A'.repeat(64)],
  ['a secret', `bad secret whsec_${'A'.repeat(32)}`],
  ['a private key', `bad key whsk_${'A'.repeat(86)}==`],
  ['basic auth', 'Authorization: Basic AAAAAAAAAAAAAAAA'],
  ['bearer auth', '"authorization":"Bearer AAAAAAAAAA.AAAA_AA-A"'],
  ['a query', 'POST https://merchant.example/p?token=AAAAAAAA failed'],
  ['a query escaped in JSON', '{"url":"https:\\/\\/merchant.example\\/p?token=AAAAAAAA"}'],
  ['user info', 'https://user:AAAAAAAA@merchant.example/'],
])('a page that prints %s back does not put it into the log', (_what, page) => {
  expect(snippetOf(Buffer.from(`<html><body>${page}</body>`)).toString()).not.toContain('AAAAAAAA');
  expect(cleanText(page)).not.toContain('AAAAAAAA');
});

test('a secret that straddles the cut is removed whole', () => {
  const page = Buffer.from(`${'x'.repeat(1010)} whsec_${'A'.repeat(44)}`);
  expect(snippetOf(page).toString()).not.toContain('AAAA');
});

test('R101 the first KiB is kept byte for byte, and does not end inside a character', () => {
  expect(snippetOf(Buffer.from('00ffd6a7', 'hex')).toString('hex')).toBe('00ffd6a7');
  const long = snippetOf(Buffer.from(`${'x'.repeat(1022)}支付`));
  expect(long.toString()).toBe('x'.repeat(1022));
  expect(snippetOf(Buffer.from(`${'x'.repeat(1021)}支付`)).toString()).toBe(`${'x'.repeat(1021)}支`);
  expect(snippetOf(Buffer.alloc(5000, 0xbf))).toHaveLength(1024);
});

test('any reply gives a snippet of at most 1 KiB, and any error a line that every database takes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3000 }), fc.string({ unit: 'binary', maxLength: 2000 }), (bytes, text) => {
      expect(snippetOf(Buffer.from(bytes)).length).toBeLessThanOrEqual(1024);
      const line = cleanText(text);
      expect(line.length).toBeLessThanOrEqual(500);
      expect(line).not.toMatch(/[\0\r\n]|\p{Cs}/u);
    }),
  );
  expect(cleanText('half \ud800 a pair\0and\r\nmore')).toBe('half \ufffd a pair and more');
});
