import { signBody, verifyBody } from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { thrownBy } from './fixtures/signed.js';

const body = Buffer.from('{"amount":"100.00"}');
const secret = 'plain-secret-of-merchant-42';
const good = signBody(body, secret);

const verify = (signature: string | undefined, secrets = [secret]) =>
  verifyBody({ headers: signature === undefined ? {} : { 'x-signature': signature }, body, secrets });

test('a signed body verifies, and says which secret matched', () => {
  expect(verify(good)).toEqual({ keyIndex: 0 });
  expect(verify(good, ['another plain secret', secret])).toEqual({ keyIndex: 1 });
});

test('another body or another secret does not match', () => {
  expect(thrownBy(() => verify(good, ['another plain secret']))).toMatchObject({
    reason: 'no-match',
    header: 'x-signature',
  });
  expect(thrownBy(() => verify(signBody(Buffer.from('{}'), secret)))).toMatchObject({ reason: 'no-match' });
});

test.each([
  ['R031 63 digits and a two-byte character', `${'a'.repeat(63)}é`],
  ['R032 a short text', 'abc'],
  ['R032 65 digits', `${good}0`],
  ['R032 letters that are no digits', `zz${good.slice(2)}`],
  ['upper case', good.toUpperCase()],
  ['a prefix', `sha256=${good}`],
  ['two of them', `${good}, ${good}`],
  ['a newline', `${good}\n`],
])('%s is malformed', (_name, signature) => {
  expect(thrownBy(() => verify(signature))).toMatchObject({ reason: 'malformed', header: 'x-signature' });
});

test('no signature is missing', () => {
  expect(thrownBy(() => verify(undefined))).toMatchObject({ reason: 'missing' });
  expect(thrownBy(() => verify(''))).toMatchObject({ reason: 'missing' });
});

test.each([
  ['empty', ''],
  ['15 bytes', 'a'.repeat(15)],
  ['one that serves v1 too', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ['half an emoji', `${'a'.repeat(16)}\ud83d`],
])('R034 a plain secret is refused when it is %s', (_name, given) => {
  expect(thrownBy(() => signBody(body, given))).toMatchObject({ code: 'PROTOCOL_SECRET' });
  expect(thrownBy(() => verify(good, [given]))).toMatchObject({ code: 'PROTOCOL_SECRET' });
});

test('16 bytes are enough, counted in UTF-8', () => {
  expect(() => signBody(body, 'a'.repeat(16))).not.toThrow();
  expect(() => signBody(body, '密钥密钥密钥')).not.toThrow();
  expect(thrownBy(() => verify(good, []))).toMatchObject({ code: 'PROTOCOL_SECRET' });
});
