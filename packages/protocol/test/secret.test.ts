import { inspect } from 'node:util';
import {
  generateKeyPair,
  generateSecret,
  keyBytes,
  maskSecret,
  parseSigningKey,
  parseVerifyingKey,
} from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { secret, thrownBy } from './fixtures/signed.js';

const base64 = (sizeBytes: number) => Buffer.alloc(sizeBytes, 7).toString('base64');

test.each([24, 32, 64])('a generated secret of %s bytes is read back', (sizeBytes) => {
  const text = generateSecret(sizeBytes);
  expect(keyBytes(text).byteLength).toBe(sizeBytes);
  expect(parseSigningKey(text).algorithm).toBe('hmac');
  expect(parseVerifyingKey(text).algorithm).toBe('hmac');
});

test('a secret is 32 bytes unless told otherwise, and never the same twice', () => {
  expect(keyBytes(generateSecret()).byteLength).toBe(32);
  expect(generateSecret()).not.toBe(generateSecret());
});

test.each([0, 23, 65, 24.5, Number.NaN])('a secret of %s bytes is not generated', (sizeBytes) => {
  expect(thrownBy(() => generateSecret(sizeBytes))).toMatchObject({ code: 'PROTOCOL_SECRET' });
});

test.each([
  ['R034 empty', '', undefined],
  ['R034 undefined', undefined, undefined],
  ['R034 a prefix alone', 'whsec_', undefined],
  ['R035 an illegal character after two bytes', 'whsec_xyz!', 10],
  ['R035 illegal characters only', 'whsec_!!!!', 7],
  ['R037 the prefix of a signature in front', `v1,${secret}`, 1],
  ['another prefix', 'whsak_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 4],
  ['no prefix', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 1],
  ['upper case', secret.toUpperCase(), 1],
  ['a space in front', ` ${secret}`, 1],
  ['a newline at the end', `${secret}\n`, 39],
  ['quotes around it', `"${secret}"`, 1],
  ['base64url', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS-', 38],
  ['missing padding', `whsec_${base64(32).replace('=', '')}`, 50],
  ['unused bits that are set', `whsec_${base64(32).replace(/.=$/, 'd=')}`, 49],
  ['too much padding', `whsec_${base64(24)}=`, 39],
  ['padding in the middle', 'whsec_MfKQ9r8GKYqr=wjUPD8ILPZIo2LaLaSw', 19],
  ['23 bytes', `whsec_${base64(23)}`, undefined],
  ['65 bytes', `whsec_${base64(65)}`, undefined],
])('a secret is refused: %s', (_name, text, position) => {
  for (const parse of [parseSigningKey, parseVerifyingKey, keyBytes]) {
    const error = thrownBy(() => parse(text as string));
    expect(error).toMatchObject({ code: 'PROTOCOL_SECRET', position });
    if (text !== undefined && text.length > 12) expect(String(error.stack)).not.toContain(text.slice(8, 12));
  }
});

test('a private key is for the sender and a public key for the receiver', () => {
  const { privateKey, publicKey } = generateKeyPair();
  expect(parseSigningKey(privateKey).algorithm).toBe('ed25519-private');
  expect(parseVerifyingKey(publicKey).algorithm).toBe('ed25519-public');
  expect(thrownBy(() => parseSigningKey(publicKey)).message).toContain('public key');
  expect(thrownBy(() => parseVerifyingKey(privateKey)).message).toContain('must not have the private key');
  expect(keyBytes(privateKey).subarray(32)).toEqual(keyBytes(publicKey));
});

test('a private key whose public half belongs to another seed is refused', () => {
  const [one, other] = [generateKeyPair(), generateKeyPair()].map((pair) => keyBytes(pair.privateKey));
  const mixed = Buffer.concat([one!.subarray(0, 32), other!.subarray(32)]);
  expect(thrownBy(() => parseSigningKey(`whsk_${mixed.toString('base64')}`)).message).toContain('public half');
});

test.each(['whsk_', 'whpk_'])('%s of the wrong length is refused', (prefix) => {
  for (const sizeBytes of [31, 33, 63, 65]) {
    expect(thrownBy(() => keyBytes(prefix + base64(sizeBytes)))).toMatchObject({ code: 'PROTOCOL_SECRET' });
  }
});

test('R202 a masked secret shows its kind and a fingerprint', () => {
  expect(maskSecret(secret)).toBe('whsec_…96ad2ccd');
  expect(maskSecret('plain-secret-of-merchant-42')).toMatch(/^…[0-9a-f]{8}$/);
  expect(maskSecret(generateKeyPair().privateKey)).toMatch(/^whsk_…[0-9a-f]{8}$/);
});

test('a parsed key prints and serialises without its material', () => {
  const material = keyBytes(secret);
  for (const key of [
    parseSigningKey(secret),
    parseVerifyingKey(secret),
    parseSigningKey(generateKeyPair().privateKey),
  ]) {
    const shown = inspect(key, { depth: 9, showHidden: true }) + JSON.stringify(key);
    expect(shown).not.toContain(secret.slice(6));
    expect(shown).not.toContain(material.toString('hex'));
  }
});
