import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable, printableJson } from '../src/output/printable.js';

// eslint-disable-next-line no-control-regex -- what must not come out
const unsafe = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

test('whatever a text holds, what is printed of it is harmless, and its JSON is still its JSON (R214)', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(unsafe);
      const json = printableJson({ [text]: [text] });
      expect(json).not.toMatch(unsafe);
      expect(JSON.parse(json)).toEqual({ [text]: [text] });
    }),
  );
});

test('what is harmless stays as it is', () => {
  for (const text of ['plain', '支付成功', 'Größe 😊', '\\u001b as text', '']) expect(printable(text)).toBe(text);
});

test.each([
  ['\u001b[2J\u001b]0;OK\u0007', '\\u001b[2J\\u001b]0;OK\\u0007'],
  ['\u009b31m', '\\u009b31m'],
  ['a\u202eb', 'a\\u202eb'],
  ['line\r\nline\ttab', 'line\\u000d\\u000aline\\u0009tab'],
])('%j is shown as its escapes', (text, shown) => {
  expect(printable(text)).toBe(shown);
});
