import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseAllowedNetworks, parseNetworks, refuseAddress } from '../src/rules/addresses.js';

const nothingAllowed = { senderAllows: [], endpointAllows: [], denies: [] };

test('R125 a refusal names the network and the setting that would allow it', () => {
  expect(refuseAddress('10.0.0.16', nothingAllowed)).toMatch(
    /10\.0\.0\.16.*private, 10\.0\.0\.0\/8.*allowPrivateNetwork of both/,
  );
  expect(refuseAddress('169.254.169.254', nothingAllowed)).toMatch(/cloud metadata.*this very address/);
  expect(refuseAddress('224.0.0.1', nothingAllowed)).toMatch(/cannot be allowed/);
});

test.each([
  '0.0.0.0/0',
  '::/0',
  '8.8.8.8/32',
  '10.0.0.0/7',
  '0.0.0.0/8',
  '224.0.0.0/4',
  '::ffff:10.0.0.0/104',
  '2002::/16',
])('the sender cannot allow %s: it is not inside one private network', (network) => {
  expect(() => parseAllowedNetworks(['10.0.0.0/8', network], 'allowPrivateNetwork')).toThrow(
    expect.objectContaining({ code: 'SENDER_CONFIGURATION', option: 'allowPrivateNetwork[1]' }),
  );
});

test.each([
  '10.0.0.0/33',
  'fd00::/129',
  '10.0.0/8',
  '10.0.0.0/8/8',
  '10.0.0.0/-1',
  'localhost',
  '',
  'fe80::1%eth0',
  '0x0a.0.0.0/8',
])('%j is not a network', (network) => {
  expect(() => parseNetworks([network], 'denyNetwork')).toThrow(/denyNetwork\[0\].*not a network/);
});

test('no IPv4 address is public in one form and special in another', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
      const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
      expect(refuseAddress(`::ffff:${hex}`, nothingAllowed)).toBeDefined();
      expect(refuseAddress(`64:ff9b::${hex}`, nothingAllowed) === undefined).toBe(
        refuseAddress(address, nothingAllowed) === undefined,
      );
    }),
  );
});

test('whatever a resolver returns is judged without an exception', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.ipV6(), fc.webUrl()), (text) => {
      const refusal = refuseAddress(text, nothingAllowed);
      expect(refusal === undefined || refusal.length > 0).toBe(true);
    }),
  );
});
