import {
  BytesError,
  decodeEnvelope,
  encodeEnvelope,
  payloadDigest,
  signBody,
  signNotification,
  type Envelope,
} from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { id, refusal, signedHeaders, thrownBy, verify } from './fixtures/signed.js';

const envelope: Envelope = { source: 'acme-pay', to: 'merchant-42', type: 'payment.success', bizId: 'PAY1', data: {} };

/** Whether bytes that were signed as `sent` still verify when the receiver checks `checked`. */
const survives = (sent: Buffer, checked: Buffer) => refusal(signedHeaders(sent), checked) === undefined;

const reprinted = (body: Buffer) => Buffer.from(JSON.stringify(JSON.parse(body.toString('utf8'))));

test.each([
  ['R001 spaces, 1.0 and integer-like names', '{"a": 1.0, "10": 1, "2": 2}'],
  ['R002 escapes in upper and lower case', String.raw`{"body":"\u001B[34mbar \u2665\u001b[0m"}`],
  ['R005 escaped slashes and ASCII-only text from PHP', String.raw`{"u":"https:\/\/a.b\/c","n":"\u652f\u4ed8"}`],
  ['R020 decimals that JavaScript prints differently', '{"amount":0.00001,"fee":1.0e-7,"sum":0.30000000000000004}'],
  ['R022 decimals that lose their zero', '{"amount":1.0,"b":1.00,"c":1e2}'],
])('%s verify as sent, and not as printed again', (_name, text) => {
  const body = Buffer.from(text);
  expect(survives(body, body)).toBe(true);
  expect(survives(body, reprinted(body))).toBe(false);
});

test.each([
  ['an object', { a: 1 }, 'object'],
  ['a string', '{"a":1}', 'string'],
  ['null', null, 'null'],
  ['nothing', undefined, 'undefined'],
  ['an array of numbers', [123, 125], 'object'],
])('R001 R011 %s in place of bytes is a named error everywhere', (_name, given, kind) => {
  const body = given as unknown as Uint8Array;
  const calls = [
    () => verify(signedHeaders(Buffer.from('{}')), body),
    () => signNotification({ id, timestampSeconds: 1, body, keys: [] }),
    () => signBody(body, 'plain secret of 16+'),
    () => payloadDigest(body),
    () => decodeEnvelope(body),
  ];
  for (const call of calls) {
    expect(thrownBy(call)).toMatchObject({ name: 'BytesError', code: 'PROTOCOL_BYTES', given: kind });
  }
  expect(new BytesError({ given: kind }).message).toContain('raw request body');
});

test('R007 R010 text is UTF-8 at every step: read as latin1 and written again it no longer verifies', () => {
  for (const text of ['{"desc":"珊瑚 x 1"}', '{"name":"Größe"}']) {
    const body = Buffer.from(text, 'utf8');
    expect(survives(body, body)).toBe(true);
    expect(survives(body, Buffer.from(body.toString('latin1'), 'utf8'))).toBe(false);
  }
});

test('R008 an emoji cut by a chunk boundary verifies when bytes are joined, not when chunks are decoded', () => {
  const body = Buffer.from('{"t":"😊"}');
  const [first, second] = [body.subarray(0, 8), body.subarray(8)]; // f0 9f | 98 8a
  expect(survives(body, Buffer.concat([first, second]))).toBe(true);
  expect(survives(body, Buffer.from(first.toString('utf8') + second.toString('utf8')))).toBe(false);
});

test('R010 R011 the bytes of an envelope are made once: encoding is the only place where text becomes bytes', () => {
  const body = encodeEnvelope({ ...envelope, data: { b: 1, a: 'é', c: [1, 2], name: 'Größe' } });
  expect(body.toString('utf8')).toBe(
    '{"source":"acme-pay","to":"merchant-42","type":"payment.success","bizId":"PAY1","data":{"b":1,"a":"é","c":[1,2],"name":"Größe"}}',
  );
});

test('R013 R014 GBK bytes verify as they are, and are then refused as text, never repaired', () => {
  const gbk = Buffer.concat([Buffer.from('{"a":"'), Buffer.from('d6a7b8b6b3c9b9a6', 'hex'), Buffer.from('"}')]);
  expect(survives(gbk, gbk)).toBe(true);
  expect(thrownBy(() => decodeEnvelope(gbk))).toMatchObject({ member: 'body', problem: 'is not valid UTF-8' });

  const utf8 = encodeEnvelope({ ...envelope, data: { a: '支付成功' } });
  expect(decodeEnvelope(utf8).data).toEqual({ a: '支付成功' });
});

test('R016 the separators are dots and nothing is added: CRLF, LF and a trailing newline each make another body', () => {
  const bodies = ['line1\r\nline2', 'line1\nline2', 'line1\r\nline2\n', 'line1\r\nline2\r\n'].map((text) =>
    Buffer.from(text),
  );
  for (const body of bodies) {
    expect(bodies.filter((other) => survives(body, other))).toEqual([body]);
  }
});

test('R017 a body mapped onto other names and another order does not verify', () => {
  const body = Buffer.from('{"event_type":"X","create_time":"2026-01-01"}');
  expect(survives(body, Buffer.from('{"createTime":"2026-01-01","eventType":"X"}'))).toBe(false);
});

test('R019 fields are not sorted, dropped or defaulted: an empty, a null and a missing field are three bodies', () => {
  const bodies = ['a=&b=1', 'b=1', 'a=null&b=1', 'b=1&a='].map((text) => Buffer.from(text));
  expect(new Set(bodies.map(payloadDigest)).size).toBe(bodies.length);
  for (const body of bodies) expect(bodies.filter((other) => survives(body, other))).toEqual([body]);
});

test('R020 R022 a payload printed again counts as another payload', () => {
  const pairs = [
    ['{"amount":0.00001}', '{"amount":1e-5}'],
    ['{"amount":1.0}', '{"amount":1}'],
    ['{"c":1e2}', '{"c":100}'],
  ] as const;
  for (const [one, other] of pairs) expect(payloadDigest(Buffer.from(one))).not.toBe(payloadDigest(Buffer.from(other)));
});

test('bytes from another realm are bytes', async () => {
  const { runInNewContext } = await import('node:vm');
  const foreign = runInNewContext('new Uint8Array([123, 125])') as Uint8Array;
  expect(foreign).not.toBeInstanceOf(Uint8Array);
  expect(payloadDigest(foreign)).toBe(payloadDigest(Buffer.from('{}')));
});
