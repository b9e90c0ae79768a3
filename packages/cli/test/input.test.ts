import { expect, test } from 'vitest';
import { parseJson } from '../src/input/parse-json.js';
import { moment, wholeNumber } from '../src/input/parse-options.js';

const now = () => new Date('2026-01-31T12:00:00Z');

test.each([
  ['90s', '2026-01-31T11:58:30Z'],
  ['30m', '2026-01-31T11:30:00Z'],
  ['24h', '2026-01-30T12:00:00Z'],
  ['7d', '2026-01-24T12:00:00Z'],
  ['2026-01-30', '2026-01-30T00:00:00Z'],
  ['2026-01-30T08:00:00+08:00', '2026-01-30T00:00:00Z'],
])('the moment %s is %s', (text, expected) => {
  expect(moment(now)(text)).toEqual(new Date(expected));
});

test.each(['', 'soon', '24', '-1h', '1w', '1.5h', '1893456000', '2026-13-01', '2026-01-30T99:00:00Z'])(
  '%j is no moment',
  (text) => {
    expect(() => moment(now)(text)).toThrow('It must be a moment');
  },
);

test('a whole number is written in digits and not below its bound', () => {
  expect([wholeNumber()('1'), wholeNumber(0)('0'), wholeNumber(0)('200')]).toEqual([1, 0, 200]);
  for (const text of ['0', '-1', '1.5', '1e3', '0x10', ' 1', '', '9'.repeat(16)]) {
    expect(() => wholeNumber()(text)).toThrow('whole number');
  }
});

test.each(['12345678901234567890', '0.12345678901234567', '-1234567890.1234567890', '9007199254740993'])(
  'the number %s would lose digits and is refused, but is kept as text',
  (number) => {
    expect(() => parseJson(`{"a":[${number}]}`, 'stdin')).toThrow(`holds the number ${number}`);
    expect(parseJson(`{"a":"\\"${number}"}`, 'stdin')).toEqual({ a: `"${number}` });
  },
);

test.each(['0', '-1', '100.00', '1e-7', '9007199254740991', '123456789012345', '100000000000000000000'])(
  'the number %s loses nothing',
  (number) => {
    expect(parseJson(number, 'stdin')).toBe(Number(number));
  },
);
