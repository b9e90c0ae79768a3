import { parseRetryAfter } from '@bestnotify/protocol';
import { expect, test } from 'vitest';

const now = new Date('2026-01-01T08:00:00Z');

test.each([
  ['0', 0],
  ['1', 1_000],
  ['120', 120_000],
  ['007', 7_000],
  [' 30\t', 30_000],
  ['6457', 6_457_000], // R134: seconds, whatever another API means by it
  ['86400000', 86_400_000_000],
  ['99999999999', 2 ** 31 * 1000],
  ['9'.repeat(400), 2 ** 31 * 1000],
])('R133 R134 %j is %s ms', (value, expected) => {
  expect(parseRetryAfter(value, now)).toBe(expected);
});

test.each([
  ['Thu, 01 Jan 2026 08:00:30 GMT', 30_000],
  ['Thu, 01 Jan 2026 08:00:00 GMT', 0],
  ['Thursday, 01-Jan-26 08:01:00 GMT', 60_000],
  ['Thu Jan  1 09:00:00 2026', 3_600_000],
  ['Tue Jan 13 08:00:00 2026', 12 * 86_400_000],
  ['Wed, 31 Dec 2098 23:59:60 GMT', 2 ** 31 * 1000],
  ['thu, 01 jan 2026 08:00:30 gmt', 30_000],
])('the HTTP date %j is %s ms from now', (value, expected) => {
  expect(parseRetryAfter(value, now)).toBe(expected);
});

test.each([
  undefined,
  '',
  ' ',
  '-5', // R133: never read as a year
  '+3',
  '1.5',
  '0.35', // R134
  '1e3',
  '0x10',
  '１２０',
  '120s',
  '120, 60',
  'soon',
  'Infinity',
  'NaN',
  '2026-01-01T08:00:30Z',
  'Thu, 01 Jan 2026 07:59:59 GMT', // past
  'Thursday, 01-Jan-99 08:00:00 GMT', // 1999, since 2099 is more than 50 years ahead
  'Wed, 31 Jun 2026 08:00:00 GMT',
  'Thu, 01 Foo 2026 08:00:00 GMT',
  'Thu, 01 Jan 2026 24:00:00 GMT',
  'Thu, 01 Jan 2026 08:60:00 GMT',
  'Thu, 01 Jan 2026 08:00:30 +0800',
  'Thu, 1 Jan 2026 08:00:30 GMT',
])('R133 %j counts as absent', (value) => {
  expect(parseRetryAfter(value, now)).toBeUndefined();
});
