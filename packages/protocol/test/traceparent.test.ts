import { formatTraceparent, parseTraceparent } from '@bestnotify/protocol';
import { expect, test } from 'vitest';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

test.each([
  [`00-${traceId}-${spanId}-01`, 1],
  [`00-${traceId}-${spanId}-00`, 0],
  [`00-${traceId}-${spanId}-ff`, 255],
  [`cc-${traceId}-${spanId}-01`, 1],
  [`cc-${traceId}-${spanId}-01-what-the-future-will-bring`, 1],
])('%s is where a trace goes on', (text, flags) => {
  expect(parseTraceparent(text)).toEqual({ traceId, spanId, flags });
});

test.each([
  undefined,
  null,
  '',
  `ff-${traceId}-${spanId}-01`,
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `00-${traceId}-${'0'.repeat(16)}-01`,
  `00-${traceId.toUpperCase()}-${spanId}-01`,
  `00-${traceId}-${spanId}-01-more`,
  `00-${traceId}-${spanId}`,
  ` 00-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  `cc-${traceId}-${spanId}-01-${'x'.repeat(300)}`,
  `cc-${traceId}-${spanId}-01-\u001b[31m`,
])('%j is none', (text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test('what is formatted is read back', () => {
  const parent = { traceId, spanId, flags: 1 };
  expect(parseTraceparent(formatTraceparent(parent))).toEqual(parent);
  expect(formatTraceparent({ ...parent, flags: 0x101 })).toBe(`00-${traceId}-${spanId}-01`);
});
