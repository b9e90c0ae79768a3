import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isSenderError } from '../src/errors.js';
import { checkEndpointUrl, describeUrl } from '../src/rules/urls.js';

test.each([
  ['https://EXAMPLE.com./hook', 'https://example.com/hook'],
  ['HTTPS://Example.COM:443/a/../b/%2e%2e/c?x=Y', 'https://example.com/c?x=Y'],
  ['https://例子.测试/回调', 'https://xn--fsqu00a.xn--0zwm56d/%E5%9B%9E%E8%B0%83'],
  ['https://a_b.example:8443', 'https://a_b.example:8443/'],
])('R128 %s is stored as %s', (given, stored) => {
  expect(checkEndpointUrl(given)).toBe(stored);
  expect(checkEndpointUrl(stored)).toBe(stored);
});

test('plain http needs the endpoint to allow it', () => {
  expect(() => checkEndpointUrl('http://example.com/')).toThrow(/allowHttp/);
  expect(checkEndpointUrl('http://example.com/', { allowHttp: true })).toBe('http://example.com/');
});

test.each([
  'https://example.com:6000/',
  'https://example.com:10080/',
  'https://example.com:1024/',
  'https://example.com:65535/',
])('R127 %s may be called, whatever a browser would say', (url) => {
  expect(checkEndpointUrl(url)).toBe(url);
});

test.each([
  'https://example.com:1023/',
  'https://example.com:0/',
  'https://example.com:65536/',
  'https://example.com:+80/',
])('R127 %s may not', (url) => {
  expect(() => checkEndpointUrl(url)).toThrow(expect.objectContaining({ code: 'SENDER_ENDPOINT_URL' }));
});

test('the allowed ports can be chosen', () => {
  const allowedPorts = [443, [8000, 8002]] as const;
  expect(checkEndpointUrl('https://example.com:8002/', { allowedPorts })).toContain(':8002');
  expect(() => checkEndpointUrl('https://example.com:8003/', { allowedPorts })).toThrow(/allowedPorts/);
  expect(() => checkEndpointUrl('http://example.com/', { allowedPorts, allowHttp: true })).toThrow(/Port 80/);
});

test('R130 what is logged of a URL is its origin and path', () => {
  expect(describeUrl('https://user:pass@example.com:8443/a/b?token=s3cret#frag')).toBe('https://example.com:8443/a/b');
  expect(describeUrl('file:///etc/passwd?x')).not.toContain('x');
  expect(describeUrl('http://[nonsense?token=s3cret')).toBe('a text that is not a URL');
});

test('R130 no message about a URL holds its user info or query', () => {
  const hosts = [
    'example.com',
    'u:hunter2@example.com',
    'u:hunter2@',
    'u:hunter2@exa mple.com',
    'u:hunter2@127.1:99999',
  ];
  for (const scheme of ['https://', 'http://', 'ftp://', 'https:', '']) {
    for (const host of hosts) {
      const url = `${scheme}${host}/p?token=s3cret#hunter2`;
      expect(() => checkEndpointUrl(url), url).toThrow(
        expect.objectContaining({ message: expect.not.stringMatching(/s3cret|hunter2/) as string }),
      );
    }
  }
});

test('any text is either refused with a typed error or stable once normalised', () => {
  const texts = fc.oneof(
    fc.string(),
    fc.webUrl({ withQueryParameters: true }),
    fc.string().map((s) => `https://${s}`),
  );
  fc.assert(
    fc.property(texts, (text) => {
      let stored: string;
      try {
        stored = checkEndpointUrl(text, { allowHttp: true });
      } catch (error) {
        expect(isSenderError(error), String(error)).toBe(true);
        return;
      }
      expect(checkEndpointUrl(stored, { allowHttp: true })).toBe(stored);
    }),
    { numRuns: 2000 },
  );
});
