import {
  checkEnvelopeMember,
  decodeEnvelope,
  encodeEnvelope,
  maxDepth,
  payloadDigest,
  type Envelope,
} from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { thrownBy } from './fixtures/signed.js';

const envelope: Envelope = {
  source: 'acme-pay',
  to: 'merchant-42',
  type: 'payment.success',
  bizId: 'PAY20260101000123',
  subject: 'ORDER7',
  occurredAt: '2026-01-01T16:00:00+08:00',
  sequence: 3,
  data: { amount: '100.00' },
};
const { source, to, type, bizId } = envelope;
const bare = { source, to, type, bizId };
const text =
  '{"source":"acme-pay","to":"merchant-42","type":"payment.success","bizId":"PAY20260101000123","subject":"ORDER7","occurredAt":"2026-01-01T16:00:00+08:00","sequence":3,"data":{"amount":"100.00"}}';

const encodeData = (data: unknown) => encodeEnvelope({ ...bare, data });
const bodyWith = (data: string, members: object = bare) =>
  Buffer.from(`${JSON.stringify(members).slice(0, -1)},"data":${data}}`);
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

test('an envelope is written as the protocol shows it, in whatever order it was given', () => {
  expect(encodeEnvelope(envelope).toString()).toBe(text);
  expect(encodeEnvelope(Object.fromEntries(Object.entries(envelope).reverse()) as unknown as Envelope).toString()).toBe(
    text,
  );
  expect(decodeEnvelope(Buffer.from(text))).toEqual(envelope);
});

test('members that are absent or undefined are not written, and members nobody knows are not read', () => {
  const sparse = { ...bare, subject: undefined, occurredAt: undefined, extra: 1, data: null };
  const body = encodeEnvelope(sparse as unknown as Envelope);
  expect(decodeEnvelope(body)).toEqual({ ...bare, data: null });
  expect(Object.keys(decodeEnvelope(bodyWith('1', { ...bare, laterMember: true })))).not.toContain('laterMember');
});

test.each([
  ['source', ['a', '~!"\\\x7e', 'a'.repeat(128)], ['', 'a b', 'a'.repeat(129), 'é', 'a\n', '\x7f', 7, null, undefined]],
  ['to', ['merchant-42'], ['', ' ', 'a\t']],
  ['bizId', ['PAY1', '9007199254740993'], ['', 42, '支付']],
  ['subject', ['ORDER7'], ['', null]],
  [
    'type',
    ['a', '0', 'payment.success', 'A:b-c_d.e', 'a'.repeat(64)],
    ['', '.a', '-a', 'a b', 'a/b', 'a'.repeat(65), 'é', 1],
  ],
  [
    'occurredAt',
    [
      '2026-01-01T16:00:00+08:00',
      '2026-01-01T16:00:00Z',
      '2024-02-29T23:59:60Z',
      '2000-02-29T00:00:00.123456789-12:30',
      '0000-01-01T00:00:00Z',
    ],
    [
      '',
      '2026-01-01',
      '2026-01-01T16:00:00',
      '2026-01-01 16:00:00Z',
      '2026-02-29T00:00:00Z',
      '1900-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-04-31T00:00:00Z',
      '2026-00-10T00:00:00Z',
      '2026-01-00T00:00:00Z',
      '2026-01-01T24:00:00Z',
      '2026-01-01T00:60:00Z',
      '2026-01-01T00:00:61Z',
      '2026-01-01T00:00:00+24:00',
      '2026-01-01T00:00:00+0800',
      '2026-01-01T00:00:00.Z',
      1_767_254_400,
    ],
  ],
  ['sequence', [0, 1, Number.MAX_SAFE_INTEGER], [-1, 1.5, 2 ** 53, Number.NaN, '3', 3n, null]],
] as const)('the grammar of %s', (member, legal, illegal) => {
  for (const value of legal) {
    checkEnvelopeMember(member, value);
    expect(decodeEnvelope(encodeEnvelope({ ...envelope, [member]: value }))[member]).toBe(value);
  }
  for (const value of illegal) {
    expect(thrownBy(() => checkEnvelopeMember(member, value))).toMatchObject({ code: 'PROTOCOL_ENVELOPE', member });
    if (value === undefined || typeof value === 'bigint') continue;
    expect(thrownBy(() => encodeEnvelope({ ...envelope, [member]: value }))).toMatchObject({ member });
    expect(thrownBy(() => decodeEnvelope(bodyWith('1', { ...envelope, [member]: value })))).toMatchObject({ member });
  }
});

test.each(['source', 'to', 'type', 'bizId', 'data'])('an envelope without %s is refused', (member) => {
  const rest = Object.fromEntries(Object.entries(envelope).filter(([name]) => name !== member));
  expect(thrownBy(() => decodeEnvelope(Buffer.from(JSON.stringify(rest))))).toMatchObject({ member });
  expect(thrownBy(() => encodeEnvelope(rest as unknown as Envelope))).toMatchObject({ member });
});

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

test.each([
  ['undefined', undefined],
  ['a function', () => 1],
  ['a symbol', Symbol('x')],
  ['a BigInt', { amount: 100n }],
  ['a cycle', cyclic],
  ['NaN', { amount: Number.NaN }],
  ['an infinity', [Number.POSITIVE_INFINITY]],
  ['a function inside', { a: { b: () => 1 } }],
  ['a symbol inside', [Symbol('x')]],
  ['undefined in an array', { lines: ['a', undefined] }],
  [
    'an invalid Date',
    {
      at: {
        toJSON: () => {
          throw new Error('boom');
        },
      },
    },
  ],
  ['a toJSON that gives nothing', { toJSON: () => undefined }],
])('data that JSON cannot hold is refused: %s', (_name, data) => {
  const error = thrownBy(() => encodeData(data));
  expect(error).toMatchObject({ name: 'EnvelopeError', code: 'PROTOCOL_ENVELOPE', member: 'data' });
});

test('what JSON holds is kept: null, empty things, dates as text, and members that are undefined left out', () => {
  expect(
    encodeData({ a: null, b: [], c: {}, d: new Date(0), e: undefined, f: false, g: 0, h: '' }).toString(),
  ).toContain('"data":{"a":null,"b":[],"c":{},"d":"1970-01-01T00:00:00.000Z","f":false,"g":0,"h":""}}');
  for (const data of [null, false, 0, '', 'text', []]) expect(decodeEnvelope(encodeData(data)).data).toEqual(data);
});

test('R025 every string is legal in data: NUL and half an emoji travel as escapes and come back', () => {
  const data = { alt: 'text\ud83d', nul: '\u0000', whole: '😊', separator: '\u2028' };
  const body = encodeData(data);
  expect(body.toString()).toContain(String.raw`"alt":"text\ud83d","nul":"\u0000"`);
  expect(body.includes(Buffer.from('efbfbd', 'hex'))).toBe(false);
  expect(decodeEnvelope(body).data).toEqual(data);
});

test(`data may nest ${maxDepth - 1} deep, in both directions, and no deeper`, () => {
  const deepest = JSON.parse(nested(maxDepth - 1)) as unknown;
  expect(decodeEnvelope(encodeData(deepest)).data).toEqual(deepest);
  expect(thrownBy(() => encodeData([deepest]))).toMatchObject({ member: 'data' });
  expect(thrownBy(() => decodeEnvelope(bodyWith(nested(maxDepth))))).toMatchObject({ member: 'body' });
});

test.each([200, 10_000, 31_000, 100_000])('JSON %s levels deep is refused without exhausting the stack', (depth) => {
  for (const data of [nested(depth), '{"a":'.repeat(depth) + '1' + '}'.repeat(depth), '['.repeat(depth)]) {
    expect(thrownBy(() => decodeEnvelope(bodyWith(data)))).toMatchObject({
      member: 'body',
      problem: `nests deeper than ${maxDepth} levels`,
    });
  }
  let data: unknown = 1;
  for (let level = 0; level < depth; level++) data = [data];
  expect(thrownBy(() => encodeData(data))).toMatchObject({ member: 'data' });
});

test('brackets inside strings and after escaped quotes do not count as depth', () => {
  const data = { a: '['.repeat(500), b: `\\"${'{'.repeat(500)}`, c: '"['.repeat(300) };
  expect(decodeEnvelope(encodeData(data)).data).toEqual(data);
});

test.each([
  ['nothing', ''],
  ['an array', '[]'],
  ['null', 'null'],
  ['a string', '"success"'],
  ['a number', '7'],
  ['a form', 'amount=1&id=2'],
  ['half a document', text.slice(0, -1)],
  ['two documents', text + text],
  ['a trailing comma', text.replace(/}$/, ',}')],
  ['NaN', bodyWith('NaN').toString()],
  ['a raw newline in a string', bodyWith('"a\nb"').toString()],
  ['unbalanced closing brackets', `]]]]${text}`],
])('bytes that are no envelope are refused: %s', (_name, body) => {
  expect(thrownBy(() => decodeEnvelope(Buffer.from(body)))).toMatchObject({ code: 'PROTOCOL_ENVELOPE' });
});

test.each([
  [
    'a byte order mark',
    Buffer.concat([Buffer.from('efbbbf', 'hex'), Buffer.from(text)]),
    'starts with a byte order mark; send plain UTF-8',
  ],
  ['UTF-16', Buffer.from(text, 'utf16le'), 'is not valid JSON'],
  ['the byte ff', Buffer.from(text.replace('100', '\xff'), 'latin1'), 'is not valid UTF-8'],
  ['half a character', Buffer.from(`${text}\xe6\x94`, 'latin1'), 'is not valid UTF-8'],
  ['an overlong slash', Buffer.from(text.replace('100', '\xc0\xaf'), 'latin1'), 'is not valid UTF-8'],
  ['an encoded surrogate', Buffer.from(text.replace('100', '\xed\xa0\xbd'), 'latin1'), 'is not valid UTF-8'],
])('%s is refused and the reason named', (_name, body, problem) => {
  expect(thrownBy(() => decodeEnvelope(body))).toMatchObject({ member: 'body', problem });
});

test('a member called __proto__ changes no prototype and hides no other member', () => {
  const body = bodyWith('{"__proto__":{"isAdmin":true},"constructor":1}', bare);
  const decoded = decodeEnvelope(body);
  expect(Object.getPrototypeOf(decoded.data)).toBe(Object.prototype);
  expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();

  const only = Buffer.from(`{"__proto__":${text}}`);
  expect(thrownBy(() => decodeEnvelope(only))).toMatchObject({ member: 'source' });
  const beside = decodeEnvelope(Buffer.from(text.replace(/^{/, '{"__proto__":{"data":9},')));
  expect(beside).toEqual(envelope);
});

test('R023 of a repeated name the last counts, unless repeated names are refused', () => {
  const repeated = [String.raw`{"amount":1,"\u0061mount":100}`, '{"Amount":1,"amount":100}', '[{"x":{"a":{},"a":[]}}]'];
  for (const data of repeated) {
    expect(() => decodeEnvelope(bodyWith(data))).not.toThrow();
    expect(thrownBy(() => decodeEnvelope(bodyWith(data), { refuseRepeatedNames: true }))).toMatchObject({
      member: 'body',
    });
  }
  expect(decodeEnvelope(bodyWith(repeated[0]!)).data).toEqual({ amount: 100 });
  const twice = Buffer.from(text.replace(/^{/, '{"to":"merchant-7",'));
  expect(decodeEnvelope(twice).to).toBe('merchant-42');
  expect(() => decodeEnvelope(twice, { refuseRepeatedNames: true })).toThrow();
});

test('R023 the same name in different objects, as a value or inside a string is no repetition', () => {
  const data = String.raw`{"a":{"a":"a"},"b":[{"a":1},{"a":1}],"c":"\"a\":1,\"a\":2","d":"}{"}`;
  expect(() => decodeEnvelope(bodyWith(data), { refuseRepeatedNames: true })).not.toThrow();
});

test('R020 a number beyond 2^53 loses digits when read, and the bytes still tell it apart', () => {
  const [one, other] = [bodyWith('9007199254740993'), bodyWith('9007199254740992')];
  expect(decodeEnvelope(one).data).toBe(decodeEnvelope(other).data);
  expect(payloadDigest(one)).not.toBe(payloadDigest(other));
  const sequence = Buffer.from(text.replace('"sequence":3', '"sequence":9007199254740993'));
  expect(thrownBy(() => decodeEnvelope(sequence))).toMatchObject({ member: 'sequence' });
});

test('no message quotes what it refuses', () => {
  const marker = 'MARKER-7f3a';
  const attempts = [
    () => decodeEnvelope(Buffer.from(`{"a":"${marker}`)),
    () => decodeEnvelope(bodyWith(`"${marker}"`, { ...bare, to: `${marker} x` })),
    () => encodeEnvelope({ ...bare, to: `${marker} x`, data: 1 }),
    () =>
      encodeData({
        toJSON: () => {
          throw new Error(marker);
        },
      }),
  ];
  for (const attempt of attempts) {
    const error = thrownBy(attempt);
    expect(error.message + JSON.stringify(error)).not.toContain(marker);
  }
});
