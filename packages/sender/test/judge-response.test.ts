import { replies, type ReplyReason } from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { judgeResponse, type AckFunction, type JudgeContext } from '../src/worker/judge-response.js';
import type { Outcome } from '../src/worker/outcome.js';

type Replied = Extract<Outcome, { kind: 'replied' }>;

const now = new Date('2026-01-01T00:00:00Z');
const minute = 60_000;
const hour = 60 * minute;

function replied(facts: Partial<Omit<Replied, 'body'>> & { body?: string } = {}): Replied {
  return {
    kind: 'replied',
    status: 200,
    retryAfter: undefined,
    reason: undefined,
    location: undefined,
    contentLength: undefined,
    contentEncoding: undefined,
    truncated: false,
    durationMs: 5,
    ...facts,
    body: Buffer.from(facts.body ?? ''),
  };
}

function judge(outcome: Outcome, context: Partial<JudgeContext> = {}) {
  return judgeResponse(outcome, { ack: 'success', isOwnUrl: false, now, ...context });
}

/** The table says it all: what the receiver writes for a reason is judged as that reason. */
test.each(Object.entries(replies))('the receiver says %s', (reason, row) => {
  const judgement = judge(replied({ status: row.status, body: row.word, reason, retryAfter: '30' }));
  expect(judgement.kind).toBe(row.sender);
  expect(judgement).toMatchObject(row.sender === 'delivered' ? { reason } : { because: reason });
  if (judgement.kind === 'retry') {
    expect(judgement.alert).toBe(row.alert === 'no' ? undefined : row.alert);
    expect(judgement.notBeforeMs).toBe(row.retryAfter ? 30_000 : undefined);
  }
});

const breakerReasons: ReplyReason[] = ['handler-error', 'store-unavailable', 'raw-body-missing'];

test.each(Object.entries(replies))(
  'only a receiver that is down counts towards parking, not %s unless it is',
  (reason, row) => {
    const judgement = judge(replied({ status: row.status, body: row.word, reason }));
    expect(judgement.countsForBreaker).toBe(breakerReasons.includes(reason as ReplyReason));
  },
);

test('a reason counts only with the status it belongs to', () => {
  expect(judge(replied({ status: 500, reason: 'payload-conflict' }))).toMatchObject({
    kind: 'retry',
    because: 'status-500',
  });
  expect(judge(replied({ status: 422 }))).toMatchObject({ kind: 'retry', because: 'status-422' });
  expect(judge(replied({ status: 422, reason: '__proto__' }))).toMatchObject({ kind: 'retry', because: 'status-422' });
  expect(judge(replied({ body: 'fail', reason: 'handled' }))).toMatchObject({ kind: 'retry', because: 'wrong-reply' });
  expect(judge(replied({ body: 'success', reason: 'in-progress' }))).toEqual({
    kind: 'delivered',
    reason: 'acknowledged',
    countsForBreaker: false,
  });
});

test.each([
  ['success', true],
  ['success\n', true],
  ['\r\nsuccess', true],
  [' success ', true],
  ['\uFEFFsuccess', true],
  ['SUCCESS', true],
  ['Success', true],
  ['"success"', false],
  ['success!', false],
  ['success\0', false],
  ['ｓｕｃｃｅｓｓ', false],
  ['success\u200b', false],
  ['\u00a0success', false],
  ['\uFEFF\uFEFFsuccess', false],
  ['unsuccessful', false],
  ['', false],
  ['<p>success</p>', false],
  ['{"success":true}', false],
  ['fail', false],
  ['ok', false],
])('R086 %j with status 200 acknowledges: %s', (body, isAcknowledged) => {
  const judgement = judge(replied({ body }));
  expect(judgement.kind).toBe(isAcknowledged ? 'delivered' : 'retry');
  if (judgement.kind === 'retry') expect(judgement.hint).toBeDefined();
});

test('R089 what the receiver refused, what was no answer and what was a wrong one have different names', () => {
  expect(judge(replied({ body: 'fail' }))).toMatchObject({
    because: 'wrong-reply',
    hint: expect.stringMatching(/fail/) as string,
  });
  expect(judge(replied({ status: 500, body: 'fail' }))).toMatchObject({ because: 'status-500' });
  expect(judge({ kind: 'no-answer', error: 'x', durationMs: 1 })).toMatchObject({ because: 'no-answer' });
});

test.each([
  ['handler-error', /their handler threw/],
  ['store-unavailable', /Redis or PostgreSQL/],
  ['invalid-signature', /another secret/],
  ['stale-timestamp', /clock/],
  ['wrong-audience', /source or to/],
  ['malformed', /onInvalid/],
  ['too-large', /maxBodyBytes/],
  ['unsupported-encoding', /compressed/],
  ['body-timeout', /bodyTimeoutMs/],
  ['method-not-allowed', /POST/],
  ['raw-body-missing', /body parser/],
] as const)("our receiver's reason %s comes with what to do, under every rule", (reason, hint) => {
  const { status } = replies[reason];
  for (const ack of ['success', 'status', 'json-code', 'own']) {
    expect(judge(replied({ status, reason, body: 'fail' }), { ack, acks: { own: () => true } })).toMatchObject({
      because: reason,
      hint: expect.stringMatching(hint) as string,
    });
  }
});

test.each([
  ['that mends itself', { status: 409, reason: 'in-progress' }],
  ['that was asked for', { status: 503, reason: 'retry-later' }],
  ['of another status', { status: 502, reason: 'handler-error' }],
  ['that is none of ours', { status: 500, reason: 'constructor' }],
  ['that is missing', { status: 401 }],
])('a reason %s has no hint', (_what, reply) => {
  expect(judge(replied({ ...reply, body: 'fail' }))).not.toHaveProperty('hint');
});

test.each(['success', 'status', 'json-code', 'own'])(
  'R091 no rule takes a redirect for an acknowledgement: %s',
  (ack) => {
    const acks = { own: () => true };
    for (const status of [300, 301, 302, 303, 304, 307, 308]) {
      const reply = replied({ status, body: 'success', location: 'https://x.test/login' });
      expect(judge(reply, { ack, acks })).toMatchObject({
        kind: 'retry',
        because: 'redirect',
        countsForBreaker: false,
      });
    }
  },
);

test('R103 204 and 205 acknowledge only where the status decides', () => {
  for (const status of [204, 205]) {
    expect(judge(replied({ status }))).toMatchObject({
      kind: 'retry',
      hint: expect.stringMatching(/no body/) as string,
    });
    expect(judge(replied({ status }), { ack: 'status' })).toMatchObject({ kind: 'delivered' });
  }
});

test('a body that was cut off never acknowledges by its beginning', () => {
  const cut = replied({ body: `success${' '.repeat(100)}`, truncated: true });
  const acks = { own: () => true };
  expect(judge(cut).kind).toBe('retry');
  expect(judge(cut, { ack: 'json-code' }).kind).toBe('retry');
  expect(judge(cut, { ack: 'own', acks }).kind).toBe('retry');
  expect(judge(cut, { ack: 'status' }).kind).toBe('delivered');
});

test.each<[string, Record<string, AckFunction>, object]>([
  [
    'true',
    { own: ({ status, body }) => status === 200 && body.toString() === 'ok' },
    { kind: 'delivered', reason: 'acknowledged' },
  ],
  ['false', { own: () => false }, { kind: 'retry', because: 'wrong-reply' }],
  [
    'an exception',
    {
      own: () => {
        throw new Error('s3cret');
      },
    },
    { kind: 'retry', because: 'ack-failed', alert: 'first', hint: 'the ack function "own" threw' },
  ],
  [
    'a promise',
    { own: (() => Promise.reject(new Error('late'))) as unknown as AckFunction },
    { kind: 'retry', because: 'ack-failed' },
  ],
  ['a number', { own: (() => 1) as unknown as AckFunction }, { kind: 'retry', because: 'ack-failed' }],
  ['nothing of that name', {}, { kind: 'retry', because: 'unknown-ack', alert: 'each', countsForBreaker: false }],
])('a function of the platform that gives %s', (_what, acks, expected) => {
  expect(judge(replied({ body: 'ok' }), { ack: 'own', acks })).toMatchObject(expected);
});

test('a function of the platform is not asked about refusals, and not found on the prototype', () => {
  expect(judge(replied({ status: 500 }), { ack: 'own', acks: { own: () => true } })).toMatchObject({
    because: 'status-500',
  });
  expect(judge(replied({ body: 'x' }), { ack: 'toString', acks: {} })).toMatchObject({ because: 'unknown-ack' });
});

test('R143 410 ends a notification with its own URL, and says of an endpoint that it has gone', () => {
  expect(judge(replied({ status: 410 }), { isOwnUrl: true })).toEqual({
    kind: 'dead',
    because: 'gone',
    countsForBreaker: false,
  });
  expect(judge(replied({ status: 410 }))).toMatchObject({
    kind: 'retry',
    because: 'gone',
    gone: true,
    countsForBreaker: false,
  });
});

test.each([
  [409, '60', minute, undefined],
  [429, '60', minute, minute],
  [503, '60', minute, minute],
  [429, '7200', hour, 5 * minute],
  [503, 'Thu, 01 Jan 2026 00:10:00 GMT', 10 * minute, 5 * minute],
  [503, 'Wed, 31 Dec 2025 23:59:59 GMT', undefined, undefined],
  [500, '60', undefined, undefined],
  [429, '-5', undefined, undefined],
  [429, '+3', undefined, undefined],
  [429, '1.5', undefined, undefined],
  [429, '0.35', undefined, undefined],
  [429, '6457', hour, 5 * minute],
  [429, '86400000', hour, 5 * minute],
  [429, '99999999999', hour, 5 * minute],
  [429, 'soon', undefined, undefined],
  [429, '', undefined, undefined],
])('R133 R134 status %d with retry-after %j', (status, retryAfter, rowMs, endpointMs) => {
  const judgement = judge(replied({ status, retryAfter }));
  expect(judgement.endpointNotBeforeMs).toBe(endpointMs);
  expect(judgement.kind === 'retry' && judgement.notBeforeMs).toBe(rowMs);
});

test('retry-later is about one notification: it slows and counts for nobody else', () => {
  const judgement = judge(replied({ status: 503, body: 'fail', reason: 'retry-later', retryAfter: '60' }));
  expect(judgement).toEqual({ kind: 'retry', because: 'retry-later', notBeforeMs: minute, countsForBreaker: false });
});

test.each([
  [400, false],
  [401, false],
  [403, false],
  [404, false],
  [408, false],
  [409, false],
  [413, false],
  [415, false],
  [422, false],
  [429, true],
  [500, true],
  [502, true],
  [503, true],
  [599, true],
])('status %d counts towards parking: %s', (status, counts) => {
  expect(judge(replied({ status })).countsForBreaker).toBe(counts);
});

test('R140 every way of not getting there is retried, and only an endpoint that is down counts', () => {
  for (const because of ['dns', 'connect', 'tls'] as const) {
    const judgement = judge({ kind: 'not-sent', because, error: 'x', durationMs: 1 });
    expect(judgement).toEqual({ kind: 'retry', because, countsForBreaker: true });
  }
  for (const because of ['forbidden-address', 'invalid-url'] as const) {
    const judgement = judge({ kind: 'not-sent', because, error: 'x', durationMs: 1 });
    expect(judgement).toEqual({ kind: 'retry', because, alert: 'first', countsForBreaker: false });
  }
});

test('what we stopped or broke ourselves is not charged', () => {
  expect(judge({ kind: 'aborted', mayHaveArrived: true, durationMs: 1 })).toMatchObject({
    kind: 'uncharged',
    because: 'stopped',
  });
  expect(judge({ kind: 'internal', error: 'x', durationMs: 1 })).toMatchObject({
    kind: 'uncharged',
    because: 'internal',
  });
});
