import { readFileSync } from 'node:fs';
import {
  generateKeyPair,
  generateSecret,
  isProtocolError,
  parseVerifyingKey,
  signBody,
  verifyNotification,
} from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { composeRequest, type EndpointParts } from '../src/worker/compose-request.js';
import { version } from '../src/version.js';

const secret = generateSecret();
const body = Buffer.from('{"source":"acme-pay"}');
const named = { source: 'acme-pay', to: 'merchant-42', type: 'payment.success', bizId: 'PAY1' };
const notification = { id: 'ntf_1', ...named, url: null, contentType: 'application/json', body };
const endpoint: EndpointParts = {
  url: 'https://merchant.example/notify',
  profile: 'v1',
  allowHttp: false,
  allowPrivateNetwork: [],
  secrets: [{ secret }],
};
const timestampSeconds = 1_893_456_000;
const now = new Date(timestampSeconds * 1000);

function compose(changes: Partial<EndpointParts> = {}, own: { url?: string; contentType?: string } = {}) {
  return composeRequest({
    notification: { ...notification, ...own },
    endpoint: { ...endpoint, ...changes },
    timestampSeconds,
    attemptNumber: 3,
  });
}

test('the request has the headers of the protocol and the very bytes of the notification', () => {
  const request = compose();
  const { 'webhook-signature': signature, ...headers } = request.headers;
  expect(headers).toEqual({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': `bestnotify/${version}`,
    'webhook-id': 'ntf_1',
    'webhook-timestamp': '1893456000',
    'x-event-type': 'payment.success',
    'bestnotify-attempt': '3',
  });
  expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
  expect(request.body).toBe(body);
  expect(verifyNotification({ headers: request.headers, body, keys: [parseVerifyingKey(secret)], now })).toMatchObject({
    id: 'ntf_1',
  });
});

test('every live key signs, oldest first; of more than five the newest five', () => {
  const { privateKey, publicKey } = generateKeyPair();
  const secrets = [secret, privateKey, ...Array.from({ length: 3 }, () => generateSecret())];
  const { headers } = compose({ secrets: secrets.map((each) => ({ secret: each })) });
  expect(headers['webhook-signature']?.split(' ').map((entry) => entry.split(',')[0])).toEqual([
    'v1',
    'v1a',
    'v1',
    'v1',
    'v1',
  ]);
  for (const key of [secret, publicKey]) {
    expect(verifyNotification({ headers, body, keys: [parseVerifyingKey(key)], now }).id).toBe('ntf_1');
  }
  const six = compose({ secrets: [...secrets, generateSecret()].map((each) => ({ secret: each })) });
  expect(six.headers['webhook-signature']?.split(' ')).toHaveLength(5);
  expect(() => verifyNotification({ headers: six.headers, body, keys: [parseVerifyingKey(secret)], now })).toThrow();
});

test("a notification's own URL and content type go before the endpoint's", () => {
  const request = compose({}, { url: 'https://order.example/7', contentType: 'text/xml' });
  expect(request.url).toBe('https://order.example/7');
  expect(request.headers['content-type']).toBe('text/xml');
});

test('an endpoint without a usable key gives a typed error that does not hold it', () => {
  for (const secrets of [[], [{ secret: 'whsec_hunter2' }], [{ secret: 'hunter2' }]]) {
    try {
      compose({ secrets });
      expect.unreachable();
    } catch (error) {
      expect(isProtocolError(error)).toBe(true);
      expect(String(error)).not.toContain('hunter2');
    }
  }
});

test('the profile body-hmac has one signature of the body and no header of the standard one', () => {
  const secrets = [{ secret: 'a plain secret of 16 bytes' }, { secret: 'the next plain secret' }];
  const { headers } = compose({ profile: 'body-hmac', secrets });
  expect(headers).toEqual({
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': `bestnotify/${version}`,
    'x-signature': signBody(body, 'a plain secret of 16 bytes'),
    'x-event-type': 'payment.success',
  });
});

test('static headers and auth are added, and never replace a header of the protocol', () => {
  const basic = compose({
    headers: { 'x-tenant': '7', 'webhook-id': 'forged' },
    auth: { basic: { username: 'u', password: 'p:q' } },
  });
  expect(basic.headers).toMatchObject({ 'x-tenant': '7', 'webhook-id': 'ntf_1', authorization: 'Basic dTpwOnE=' });
  expect(compose({ auth: { bearer: 'abc.def' } }).headers['authorization']).toBe('Bearer abc.def');
});

test('the version in the user agent is the one of the package', () => {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  expect(version).toBe(manifest.version);
});
