import {
  generateKeyPair,
  generateSecret,
  headerNames,
  parseSigningKey,
  parseVerifyingKey,
  signNotification,
  verifyNotification,
} from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import {
  after,
  id,
  otherSecret,
  refusal,
  secret,
  signedAt,
  signedAtSeconds,
  signedHeaders,
  thrownBy,
  verify,
} from './fixtures/signed.js';

const body = Buffer.from('{"amount":"100.00"}');
const headers = signedHeaders(body);
const withHeader = (name: string, value: string | string[]) => ({ ...headers, [name]: value });

test('a genuine notification says its id, its time, the key that matched and the version', () => {
  expect(verify(headers, body, { secrets: [otherSecret, secret] })).toEqual({
    id,
    timestampSeconds: signedAtSeconds,
    keyIndex: 1,
    version: 'v1',
  });
});

test('the id and the time are signed with the body', () => {
  expect(refusal(withHeader(headerNames.id, 'ntf_other'), body)).toBe('no-match');
  expect(refusal(withHeader(headerNames.timestamp, String(signedAtSeconds + 1)), body)).toBe('no-match');
  expect(refusal(headers, Buffer.from('{"amount":"900.00"}'))).toBe('no-match');
  expect(refusal(headers, Buffer.alloc(0))).toBe('no-match');
});

test.each([
  [-301, 'too-new'],
  [-300, undefined],
  [-2, undefined],
  [0, undefined],
  [2, undefined],
  [300, undefined],
  [300.999, undefined], // the wire counts whole seconds
  [301, 'too-old'],
  [86_400, 'too-old'],
  [-86_400, 'too-new'],
])('R026 R029 a receiver whose clock is %s s past the signed time: %s', (seconds, expected) => {
  expect(refusal(headers, body, { now: after(seconds) })).toBe(expected);
});

test('R029 a refused time is told with both times and their difference', () => {
  const error = thrownBy(() => verify(headers, body, { now: after(301) }));
  expect(error).toMatchObject({ reason: 'too-old', header: 'webhook-timestamp', skewSeconds: 301 });
  expect(error.message).toContain(
    `301 s before this machine's time (${signedAtSeconds} against ${signedAtSeconds + 301})`,
  );
  expect(thrownBy(() => verify(headers, body, { now: after(-301) }))).toMatchObject({
    reason: 'too-new',
    skewSeconds: -301,
  });
});

test('a time is judged only of genuine notifications: a stale forgery is a forgery', () => {
  expect(refusal(headers, Buffer.from('{}'), { now: after(9999) })).toBe('no-match');
});

test('another tolerance is inclusive as well, and nonsense admits nothing', () => {
  const keys = [parseVerifyingKey(secret)];
  const at = (seconds: number, toleranceSeconds: number) => () =>
    verifyNotification({ headers, body, keys, now: after(seconds), toleranceSeconds });
  expect(at(10, 10)).not.toThrow();
  expect(at(11, 10)).toThrow();
  expect(at(0, Number.NaN)).toThrow();
  expect(() => verifyNotification({ headers, body, keys, now: new Date(Number.NaN) })).toThrow();
});

test('without a given time the machine’s clock decides', () => {
  const keys = [parseVerifyingKey(secret)];
  const fresh = signedHeaders(body, { timestampSeconds: Math.floor(Date.now() / 1000) });
  expect(verifyNotification({ headers: fresh, body, keys }).id).toBe(id);
  expect(thrownBy(() => verifyNotification({ headers, body, keys }))).toMatchObject({ reason: 'too-old' });
});

test.each([
  '1767254400000', // R028: milliseconds
  '+1767254400',
  '-1767254400',
  '1767254400.0',
  '1e9',
  '01767254400',
  '0',
  ' 1767254400',
  '1767254400 ',
  '0x6955e480',
  '１７６７２５４４００',
  '1767254400, 1767254400',
  '1767254400\n',
])('R028 the time %j is malformed, not guessed at', (timestamp) => {
  expect(refusal(withHeader(headerNames.timestamp, timestamp), body)).toBe('malformed');
});

test.each(['', 'a b', 'ntf_é', 'a'.repeat(129), 'ntf_1\n', 'a.b', 'ntf_1, ntf_1'])('the id %j is refused', (given) => {
  expect(refusal(withHeader(headerNames.id, given), body)).toBe(given === '' ? 'missing' : 'malformed');
  expect(() => signNotification({ id: given, timestampSeconds: 1, body, keys: [parseSigningKey(secret)] })).toThrow();
});

test.each([0, -1, 1.5, Number.NaN, 1e12, 1_767_254_400_000])('we do not sign at the time %s', (timestampSeconds) => {
  const keys = [parseSigningKey(secret)];
  expect(thrownBy(() => signNotification({ id, timestampSeconds, body, keys }))).toMatchObject({
    header: 'webhook-timestamp',
  });
});

test('the longest id and the largest time verify', () => {
  const longest = 'a'.repeat(128);
  const signature = signNotification({
    id: longest,
    timestampSeconds: 999_999_999_999,
    body,
    keys: [parseSigningKey(secret)],
  });
  const given = { 'webhook-id': longest, 'webhook-timestamp': '999999999999', 'webhook-signature': signature };
  expect(refusal(given, body, { now: new Date(999_999_999_999_000) })).toBeUndefined();
});

const good = headers[headerNames.signature];
const wrong = signedHeaders(body, { secrets: [otherSecret] })[headerNames.signature];

test.each([
  ['R032 a short text', 'abc'],
  ['R032 hex of the right length', 'v1,83484cf52b04f8e4cf2531adfed9882ad4b2665137b852442d594d20e2c9d4e1'],
  ['R031 characters that are more bytes than characters', `v1,${'a'.repeat(42)}é=`],
  ['R032 a NUL', `${good}\0`],
  ['R032 16 kB of text', 'v1,'.padEnd(16_384, 'a')],
  ['R032 no comma', good.replace(',', '')],
  ['R040 a probe with a text prefix', `PREFIX/SIGNTEST/${good.slice(3)}`],
  ['R040 a probe inside an entry', `v1,PREFIX/SIGNTEST/${good.slice(3)}`],
  ['two spaces', `${good}  ${good}`],
  ['a leading space', ` ${good}`],
  ['a tab', `${good}\t${good}`],
  ['a comma and a space, as repeated headers are joined', `${good}, ${good}`],
  ['the upper-case version', good.replace('v1', 'V1')],
  ['a space in the entry', good.replace(',', ', ')],
  ['no padding', good.replace('=', '')],
  ['a v1a signature of 32 bytes', good.replace('v1', 'v1a')],
  ['a good signature next to a malformed one', `${good} v1,abc`],
  ['eleven entries', Array.from({ length: 11 }, () => good).join(' ')],
])('the signature header is malformed: %s', (_name, signature) => {
  expect(refusal(withHeader(headerNames.signature, signature), body)).toBe('malformed');
});

test.each([
  ['the only entry', good],
  ['the last of ten', `${`${wrong} `.repeat(9)}${good}`],
  ['beside versions that do not exist yet', `v2,anything v1b,x= ${good}`],
])('a signature matches as %s', (_name, signature) => {
  expect(refusal(withHeader(headerNames.signature, signature), body)).toBeUndefined();
});

test('only unknown versions match nothing', () => {
  expect(refusal(withHeader(headerNames.signature, `v2,${good.slice(3)}`), body)).toBe('no-match');
});

test.each([headerNames.id, headerNames.timestamp, headerNames.signature])(
  '%s missing, empty or given twice is refused',
  (name) => {
    const { [name]: value, ...rest } = headers as Record<string, string>;
    expect(thrownBy(() => verify(rest, body))).toMatchObject({ reason: 'missing', header: name });
    expect(refusal(withHeader(name, ''), body)).toBe('missing');
    expect(refusal(withHeader(name, [value!, value!]), body)).toBe('malformed');
    expect(refusal({ ...headers, [name.toUpperCase()]: value! }, body)).toBe('malformed');
  },
);

test('R038 while keys rotate every holder of a live key accepts, and says which matched', () => {
  const [oldKey, newKey] = [secret, otherSecret];
  const during = signedHeaders(body, { secrets: [newKey, oldKey] });
  expect(during[headerNames.signature].split(' ')).toHaveLength(2);
  expect(verify(during, body, { secrets: [newKey] }).keyIndex).toBe(0);
  expect(verify(during, body, { secrets: [oldKey] }).keyIndex).toBe(0);
  expect(verify(during, body, { secrets: [oldKey, newKey] }).keyIndex).toBe(0);

  const afterwards = signedHeaders(body, { secrets: [newKey] });
  expect(verify(afterwards, body, { secrets: [oldKey, newKey] }).keyIndex).toBe(1);
  expect(refusal(afterwards, body, { secrets: [oldKey] })).toBe('no-match');
});

test('Ed25519 and HMAC keys sign side by side; each receiver needs only its own', () => {
  const pair = generateKeyPair();
  const both = signedHeaders(body, { secrets: [secret, pair.privateKey] });
  expect(verify(both, body, { secrets: [pair.publicKey] })).toMatchObject({ version: 'v1a', keyIndex: 0 });
  expect(verify(both, body, { secrets: [secret] })).toMatchObject({ version: 'v1' });
  expect(refusal(both, Buffer.from('{}'), { secrets: [pair.publicKey, secret] })).toBe('no-match');
  expect(refusal(both, body, { secrets: [generateKeyPair().publicKey] })).toBe('no-match');
});

test('a v1 signature never satisfies a receiver that holds only a public key, even when made with the public key’s bytes', () => {
  const { publicKey } = generateKeyPair();
  const confused = signedHeaders(body, { secrets: [publicKey.replace('whpk_', 'whsec_')] });
  expect(refusal(confused, body, { secrets: [publicKey] })).toBe('no-match');
});

test('R034 no key verifies nothing, and signs nothing', () => {
  expect(thrownBy(() => verify(headers, body, { secrets: [] }))).toMatchObject({ code: 'PROTOCOL_SECRET' });
  expect(thrownBy(() => signNotification({ id, timestampSeconds: 1, body, keys: [] }))).toMatchObject({
    code: 'PROTOCOL_SECRET',
  });
  const eleven = Array.from({ length: 11 }, () => parseSigningKey(generateSecret()));
  expect(thrownBy(() => signNotification({ id, timestampSeconds: 1, body, keys: eleven }))).toMatchObject({
    code: 'PROTOCOL_SECRET',
  });
});

test('R044 the refusal tells which check failed: key or bytes, time, or a header', () => {
  const reasons = [
    refusal(headers, Buffer.from('{"amount":"100.01"}')),
    refusal(headers, body, { secrets: [otherSecret] }),
    refusal(headers, body, { now: after(301) }),
    refusal(withHeader(headerNames.signature, 'abc'), body),
    refusal({}, body),
  ];
  expect(reasons).toEqual(['no-match', 'no-match', 'too-old', 'malformed', 'missing']);
});

test('R041 no refusal quotes a secret or a signature', () => {
  const attempts = [
    () => verify(headers, Buffer.from('{}')),
    () => verify(headers, body, { secrets: [otherSecret] }),
    () => verify(headers, body, { now: after(301) }),
    () => verify(withHeader(headerNames.signature, `${good} v1,abc`), body),
    () => verify(withHeader(headerNames.signature, `${good}, ${good}`), body),
    () => verify(headers, body, { secrets: [`${secret}!`] }),
  ];
  for (const attempt of attempts) {
    const error = thrownBy(attempt);
    const said = JSON.stringify(error) + String(error.stack);
    for (const hidden of [secret.slice(6), otherSecret.slice(6), good.slice(3)]) expect(said).not.toContain(hidden);
  }
});

test('fetch headers and names in any case are read alike', () => {
  const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  expect(refusal(upper, body)).toBeUndefined();
  const keys = [parseVerifyingKey(secret)];
  expect(verifyNotification({ headers: new Headers(headers), body, keys, now: signedAt }).id).toBe(id);

  const repeated = new Headers(headers);
  repeated.append('webhook-signature', good);
  expect(() => verifyNotification({ headers: repeated, body, keys, now: signedAt })).toThrow();
});
