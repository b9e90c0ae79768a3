import { expect, test } from 'vitest';
import { authorizationOf, checkEndpointAuth, checkEndpointHeaders } from '../src/rules/endpoint-headers.js';

test('allowed headers are stored with lower-case names', () => {
  expect(checkEndpointHeaders({ 'X-Tenant': 'a b', 'Api-Key': 'k', accept: 'text/plain' })).toEqual({
    'x-tenant': 'a b',
    'api-key': 'k',
    accept: 'text/plain',
  });
});

test.each([
  ...[
    'host',
    'content-length',
    'content-type',
    'content-encoding',
    'transfer-encoding',
    'connection',
    'expect',
    'upgrade',
  ],
  ...['authorization', 'cookie', 'accept-encoding', 'user-agent', 'webhook-id', 'webhook-signature', 'X-Signature'],
  ...['x-event-type', 'bestnotify-attempt', 'traceparent', 'x-a b', 'x-a:', 'x-\r\nx', 'x-é', 'x-', '', '__proto__'],
])('R115 the header %j may not be set', (name) => {
  expect(() => checkEndpointHeaders(Object.fromEntries([[name, 'hunter2']]))).toThrow(
    expect.objectContaining({
      code: 'SENDER_CONFIGURATION',
      message: expect.not.stringContaining('hunter2') as string,
    }),
  );
});

test.each(['a\r\nX-Evil: 1', 'a\0', 'a\nb', ' hunter2', 'hunter2 ', '', '\t', '支付', 'é', '😀', 'x'.repeat(1025)])(
  'R115 R116 the header value %j is refused, and not repeated in the message',
  (value) => {
    expect(() => checkEndpointHeaders({ 'x-key': value })).toThrow(/headers\["x-key"\] must be .* printable ASCII/);
    expect(() => checkEndpointAuth({ bearer: value })).toThrow(expect.objectContaining({ option: 'auth.bearer' }));
    expect(() => checkEndpointAuth({ basic: { username: 'u', password: value } })).toThrow(
      expect.objectContaining({ option: 'auth.basic.password' }),
    );
  },
);

test('two spellings of one name, and more than 20 headers, are refused', () => {
  expect(() => checkEndpointHeaders({ 'x-a': '1', 'X-A': '2' })).toThrow(/"X-A".*may not be set/);
  const many = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`x-${i}`, '1']));
  expect(() => checkEndpointHeaders(many)).toThrow(/more than 20/);
});

test('basic auth cannot hold a colon in the name, bearer no white space', () => {
  expect(() => checkEndpointAuth({ basic: { username: 'a:b', password: 'p' } })).toThrow(/colon/);
  expect(() => checkEndpointAuth({ bearer: 'a b' })).toThrow(/white space/);
  expect(authorizationOf(checkEndpointAuth({ basic: { username: 'u', password: 'p' } }))).toBe('Basic dTpw');
});
