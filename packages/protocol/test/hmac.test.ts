import fc from 'fast-check';
import { createHmac, createSecretKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { hmac } from '../src/hmac.js';

const prefix = fc.stringMatching(/^[\x21-\x7e]{0,150}$/);
const keyOfAnySize = fc.uint8Array({ minLength: 24, maxLength: 64 });
/** Empty, small, and on both sides of where the body is no longer copied. */
const body = fc.oneof(
  fc.uint8Array({ maxLength: 3_000 }),
  fc.integer({ min: 16_000, max: 17_000 }).map((sizeBytes) => new Uint8Array(sizeBytes).fill(sizeBytes)),
);

test('is the HMAC that Node makes, for any key, text and bytes', () => {
  fc.assert(
    fc.property(keyOfAnySize, prefix, body, (keyBytes, text, bytes) => {
      const key = createSecretKey(keyBytes);
      for (const encoding of ['base64', 'binary'] as const) {
        const expected = createHmac('sha256', key).update(text).update(bytes).digest(encoding);
        expect(hmac(key, text, bytes, encoding)).toBe(expected);
        expect(hmac(key, text, bytes, encoding)).toBe(expected);
      }
    }),
    { numRuns: 1_000 },
  );
});

test('nothing of one body is left in the next one, nor of one key', () => {
  const [one, other] = [createSecretKey(Buffer.alloc(64, 1)), createSecretKey(Buffer.alloc(24, 2))];
  const alone = hmac(other, 'a.1.', Buffer.from('x'), 'base64');
  hmac(one, 'longer.1234567890.', Buffer.alloc(5_000, 7), 'base64');
  expect(hmac(other, 'a.1.', Buffer.from('x'), 'base64')).toBe(alone);
});
