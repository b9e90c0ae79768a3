import { gzipSync } from 'node:zlib';
import { acknowledgement, isAcknowledged, nearMissHint, type AckRule } from '@bestnotify/protocol';
import { expect, test } from 'vitest';

const bytes = (text: string) => Buffer.from(text, 'utf8');
const acknowledged = (body: string | Buffer, status = 200, rule: AckRule = 'success') =>
  isAcknowledged(rule, { status, body: typeof body === 'string' ? bytes(body) : body });
const hint = (body: string | Buffer, status = 200, rule: AckRule = 'success') =>
  nearMissHint(rule, { status, body: typeof body === 'string' ? bytes(body) : body });

test.each([
  'success',
  'success\n',
  '\r\nsuccess',
  ' success ',
  '\t success\r\n\r\n',
  '\ufeffsuccess',
  '\ufeff success\n',
  'SUCCESS',
  'Success',
  'sUcCeSs',
])('R086 %j is the word', (body) => {
  expect(acknowledged(body)).toBe(true);
  expect(hint(body)).toBeUndefined();
});

test.each([
  '"success"',
  "'success'",
  'success!',
  'success.',
  'success\0',
  'ｓｕｃｃｅｓｓ',
  'success\u200b',
  '\u00a0success',
  'success\v',
  '\fsuccess',
  'suc cess',
  'unsuccessful',
  'succes',
  'successs',
  '\ufeff\ufeffsuccess',
  ' \ufeffsuccess',
  'ſuccess', // folds to s in Unicode, not in ASCII
  'success success',
  '<html><body>success</body></html>',
  '{"data":"success"}',
  '{"code":"SUCCESS"}',
  'ok',
  'fail',
  '',
  ' ',
])('R086 R088 R089 %j is not the word', (body) => {
  expect(acknowledged(body)).toBe(false);
});

test('R086 UTF-16 and compressed bytes are not the word', () => {
  expect(acknowledged(Buffer.from('success', 'utf16le'))).toBe(false);
  expect(acknowledged(Buffer.from('\ufeffsuccess', 'utf16le'))).toBe(false);
  expect(acknowledged(gzipSync('success'))).toBe(false); // R104: never decoded
});

test.each([
  [200, true],
  [201, true],
  [202, true],
  [299, true],
  [199, false],
  [100, false],
  [300, false],
  [301, false], // R091
  [304, false],
  [400, false],
  [500, false],
  [0, false],
  [Number.NaN, false],
])('the word under status %s acknowledges: %s', (status, expected) => {
  expect(acknowledged('success', status)).toBe(expected);
  expect(acknowledged('', status, 'status')).toBe(expected);
  expect(acknowledged('{"code":0}', status, 'json-code')).toBe(expected);
});

test('under the rule status any body acknowledges with a 2xx, 204 without one included', () => {
  for (const body of ['', 'fail', '{"ok":false}']) expect(acknowledged(body, 204, 'status')).toBe(true);
});

test.each([
  ['{"code":"SUCCESS"}', true],
  ['{"code":0}', true],
  ['\ufeff {"code":"SUCCESS","message":"成功"}\n', true],
  ['{"code":0.0}', true],
  ['{"code":"success"}', false],
  ['{"code":"0"}', false],
  ['{"code":1}', false],
  ['{"code":null}', false],
  ['{"code":false}', false],
  ['{"code":""}', false],
  ['{"Code":"SUCCESS"}', false],
  ['{"data":{"code":0}}', false],
  ['["code"]', false],
  ['{"__proto__":{"code":0}}', false],
  ['{"code":0', false],
  ['success', false],
  ['null', false],
  ['', false],
  [`{"code":0,"x":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, false],
])('under json-code the body %s acknowledges: %s', (body, expected) => {
  expect(acknowledged(body, 200, 'json-code')).toBe(expected);
});

test('under json-code invalid UTF-8 does not acknowledge', () => {
  expect(acknowledged(Buffer.from('{"code":0,"m":"\xff"}', 'latin1'), 200, 'json-code')).toBe(false);
});

test.each([
  ['success', 'text/plain', 'success', 'fail'],
  ['status', 'text/plain', 'success', 'fail'],
  ['json-code', 'application/json', '{"code":"SUCCESS"}', '{"code":"FAIL"}'],
] as const)('R088 what a receiver writes under %s is what a sender reads', (rule, contentType, success, fail) => {
  const yes = acknowledgement(rule, 'success');
  const no = acknowledgement(rule, 'fail');
  expect([yes.contentType, yes.body.toString(), no.body.toString()]).toEqual([contentType, success, fail]);
  expect(isAcknowledged(rule, { status: 200, body: yes.body })).toBe(true);
  expect(isAcknowledged(rule, { status: 200, body: no.body })).toBe(rule === 'status');
});

test.each([
  ['"success"', 200, 'JSON string'],
  ["'success'", 200, 'quotes'],
  ['', 200, 'empty'], // R092
  [' \r\n', 200, 'empty'],
  ['', 204, '204 carries no body'], // R103
  ['', 205, '205 carries no body'],
  ['<!doctype html><p>success', 200, 'HTML'],
  ['{"data":"success"}', 200, 'JSON'], // R088
  ['{"code":"SUCCESS"}', 200, 'json-code'],
  ['[]', 200, 'JSON'],
  ['ok', 200, 'another word'],
  ['OK!', 200, 'another word'],
  ['success!', 200, 'other text'],
  ['success\u200b', 200, 'other text'],
  ['unsuccessful', 200, 'other text'],
  ['success\0', 200, 'binary'],
  ['success', 500, '2xx'],
  ['success', 301, 'redirects'], // R091
  ['', 307, 'redirects'],
] as const)('a near miss is explained: %j with %s', (body, status, words) => {
  expect(hint(body, status)).toContain(words);
});

test('UTF-16 is explained', () => {
  expect(hint(Buffer.from('success', 'utf16le'))).toContain('UTF-16');
});

test.each([
  ['success', 'bare word'],
  ['', 'empty'],
  ['{"code":"0"}', 'string "0"'],
  ['{"code":200}', 'HTTP status'],
  ['{"code":"success"}', 'capitals'],
  ['{"msg":"ok"}', 'member code'],
] as const)('a near miss under json-code is explained: %j', (body, words) => {
  expect(hint(body, 200, 'json-code')).toContain(words);
});

test.each([
  ['fail', 200, 'success'], // R089: a refusal, not a mistake
  ['FAIL', 200, 'success'],
  ['error: no such order', 200, 'success'],
  ['hello', 200, 'success'],
  ['fail', 500, 'success'],
  ['', 503, 'success'],
  ['anything', 200, 'status'],
  ['{"code":"FAIL"}', 200, 'json-code'],
  ['{"code":0}', 200, 'json-code'],
] as const)('there is nothing to explain about %j with %s under %s', (body, status, rule) => {
  expect(hint(body, status, rule)).toBeUndefined();
});

test('a code that only a polluted prototype has does not acknowledge', () => {
  const prototype = Object.prototype as { code?: unknown };
  prototype.code = 0;
  try {
    expect(acknowledged('{"message":"error"}', 200, 'json-code')).toBe(false);
  } finally {
    delete prototype.code;
  }
});
