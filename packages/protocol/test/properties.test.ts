import {
  decodeEnvelope,
  encodeEnvelope,
  generateKeyPair,
  isAcknowledged,
  isProtocolError,
  nearMissHint,
  parseRetryAfter,
  parseSigningKey,
  parseVerifyingKey,
  signNotification,
  verifyBody,
  verifyNotification,
  type AckRule,
  type Envelope,
} from '@bestnotify/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { signedAt, signedAtSeconds, secret, signedHeaders } from './fixtures/signed.js';

const anyBytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
const anyRule = fc.constantFrom<AckRule>('success', 'status', 'json-code');
const visible = fc.stringMatching(/^[\x21-\x7e]{1,128}$/);
const verifying = [parseVerifyingKey(secret)];

const anyEnvelope: fc.Arbitrary<Envelope> = fc.record(
  {
    source: visible,
    to: visible,
    type: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/),
    bizId: visible,
    subject: visible,
    sequence: fc.maxSafeNat(),
    data: fc.jsonValue({ maxDepth: 6 }),
  },
  { requiredKeys: ['source', 'to', 'type', 'bizId', 'data'] },
);

/** Runs what must either work or throw one of our errors. */
function orRefused(run: () => void): void {
  try {
    run();
  } catch (error) {
    if (!isProtocolError(error)) throw error;
  }
}

test('what was encoded is decoded, and encodes to the same bytes again', () => {
  fc.assert(
    fc.property(anyEnvelope, (envelope) => {
      const body = encodeEnvelope(envelope);
      expect(JSON.parse(body.toString())).toEqual(JSON.parse(JSON.stringify(envelope)));
      expect(encodeEnvelope(decodeEnvelope(body))).toEqual(body);
    }),
  );
});

test('whatever bytes arrive, decoding gives an envelope or one of our errors', () => {
  const almost = anyEnvelope.chain((envelope) => {
    const body = encodeEnvelope(envelope);
    return fc.tuple(fc.nat(body.length - 1), fc.nat(255)).map(([at, byte]) => Buffer.from(body).fill(byte, at, at + 1));
  });
  fc.assert(
    fc.property(fc.oneof(anyBytes, almost), (body) => orRefused(() => decodeEnvelope(body))),
    { numRuns: 500 },
  );
});

test('whatever was signed verifies, and one changed bit does not', () => {
  const pair = generateKeyPair();
  const signing = [parseSigningKey(secret), parseSigningKey(pair.privateKey)];
  const anyId = fc.stringMatching(/^[A-Za-z0-9_-]{1,128}$/);
  fc.assert(
    fc.property(anyId, anyBytes, fc.nat(), fc.boolean(), (id, body, flip, isPublic) => {
      const keys = isPublic ? [parseVerifyingKey(pair.publicKey)] : verifying;
      const signature = signNotification({ id, timestampSeconds: signedAtSeconds, body, keys: signing });
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(signedAtSeconds),
        'webhook-signature': signature,
      };
      expect(verifyNotification({ headers, body, keys, now: signedAt }).id).toBe(id);
      if (body.length === 0) return;
      const changed = Buffer.from(body);
      changed[flip % body.length]! ^= 1 << (flip % 8);
      expect(() => verifyNotification({ headers, body: changed, keys, now: signedAt })).toThrow();
    }),
  );
});

test('R032 whatever the headers hold, verification succeeds or throws one of our errors', () => {
  const genuine = signedHeaders(Buffer.from('{}'));
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc.base64String(),
    fc.constantFrom(...Object.values(genuine)),
  );
  const value = fc.oneof(
    text,
    fc.array(text),
    fc.constant(undefined),
    text.map((it) => `v1,${it}`),
    text.map((it) => `v1a,${it}`),
  );
  const names = fc.constantFrom(...Object.keys(genuine), 'x-signature', 'get', '__proto__');
  fc.assert(
    fc.property(fc.dictionary(names, value), (headers) => {
      const body = Buffer.from('{}');
      orRefused(() =>
        verifyNotification({ headers: { ...genuine, ...headers }, body, keys: verifying, now: signedAt }),
      );
      orRefused(() => verifyBody({ headers, body, secrets: ['plain secret of 16+'] }));
    }),
    { numRuns: 500 },
  );
});

test('R028 the tolerance is the same on both sides, at every distance', () => {
  const body = Buffer.from('{}');
  fc.assert(
    fc.property(fc.integer({ min: -400, max: 400 }), (seconds) => {
      const now = new Date(signedAt.getTime() + seconds * 1000);
      const run = () => verifyNotification({ headers: signedHeaders(body), body, keys: verifying, now });
      if (Math.abs(seconds) <= 300) expect(run().timestampSeconds).toBe(signedAtSeconds);
      else expect(run).toThrow(expect.objectContaining({ reason: seconds > 0 ? 'too-old' : 'too-new' }));
    }),
  );
});

test('R101 whatever a reply holds, it is judged without throwing, and a hint speaks only of what was not acknowledged', () => {
  const body = fc.oneof(
    anyBytes,
    fc.constantFrom('success', '"success"', '{"code":0}', '<p>').map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(anyRule, fc.integer({ min: 0, max: 999 }), body, (rule, status, given) => {
      const hint = nearMissHint(rule, { status, body: given });
      if (isAcknowledged(rule, { status, body: given })) expect(hint).toBeUndefined();
    }),
    { numRuns: 1000 },
  );
});

test('R133 whatever retry-after holds, it is a wait of at least 0 ms or absent', () => {
  const value = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((at) => at.toUTCString()),
  );
  fc.assert(
    fc.property(value, (text) => {
      const waitMs = parseRetryAfter(text, signedAt);
      if (waitMs !== undefined)
        expect(Number.isSafeInteger(waitMs) && waitMs >= 0 && waitMs <= 2 ** 31 * 1000).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
