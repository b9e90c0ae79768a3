import {
  ConfigurationError,
  EndpointUrlError,
  generateSecret,
  SecretInUseError,
  type EndpointInput,
} from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const url = 'https://merchant.example/notify';

describe.each(databases)('endpoints on $name', ({ open }) => {
  test('what was put is read back, except for the secrets', async () => {
    await using outbox = await freshOutbox(open);
    const { endpoints } = outbox.sender;
    const secrets = [generateSecret(), { id: 'spring', secret: generateSecret() }];
    const input: EndpointInput = {
      ...{ id: 'merchant-42', url, secrets, policy: 'wechat', maxAttempts: 7, ack: 'json-code', maxInFlight: 9 },
      ...{ allowHttp: true, allowPrivateNetwork: ['10.0.0.0/8'], owner: 'group-1' },
    };

    const put = await endpoints.put(input);

    expect(put).toMatchObject({ ...input, secrets: put.secrets, profile: 'v1', heldBecause: null });
    expect(put.secrets.map((secret) => secret.id)).toContain('spring');
    for (const { fingerprint } of put.secrets) expect(fingerprint).toMatch(/^[0-9a-f]{8}$/);
    expect(await endpoints.get('merchant-42')).toEqual(put);
    const seen = JSON.stringify([put, await endpoints.list()]);
    for (const each of secrets) {
      const secret = typeof each === 'string' ? each : each.secret;
      expect(seen).not.toContain(secret.slice('whsec_'.length));
      expect(seen).not.toContain(Buffer.from(secret.slice('whsec_'.length), 'base64').toString('hex'));
    }
  });

  test('putting it again replaces its settings, and keeps the secrets where none are given', async () => {
    await using outbox = await freshOutbox(open);
    const { endpoints } = outbox.sender;
    const secret = generateSecret();
    const first = await endpoints.put({ id: 'merchant-42', url, secrets: [secret], ack: 'status', maxInFlight: 3 });

    const second = await endpoints.put({ id: 'merchant-42', url: 'https://merchant.example/v2' });

    expect(second).toMatchObject({ url: 'https://merchant.example/v2', ack: 'success', maxInFlight: null });
    expect(second.secrets).toEqual(first.secrets);
    expect((await endpoints.put({ id: 'merchant-42', url, secrets: [secret] })).secrets).toEqual(first.secrets);
    const replaced = await endpoints.put({ id: 'merchant-42', url, secrets: [generateSecret()] });
    expect(replaced.secrets).toHaveLength(1);
    expect(replaced.secrets).not.toEqual(first.secrets);
  });

  test('they are listed page by page, and each source sees its own', async () => {
    await using outbox = await freshOutbox(open);
    const { endpoints } = outbox.sender;
    for (const id of ['b', 'a', 'd', 'c']) await outbox.putEndpoint({ id });

    expect((await endpoints.list({ limit: 3 })).map((endpoint) => endpoint.id)).toEqual(['a', 'b', 'c']);
    expect((await endpoints.list({ after: 'c', limit: 3 })).map((endpoint) => endpoint.id)).toEqual(['d']);
    expect(await endpoints.list({ after: 'd' })).toEqual([]);
    expect(await outbox.another({ source: 'acme-pay-test' }).endpoints.list()).toEqual([]);
  });

  test('a removed endpoint is gone, and its secret may be used elsewhere', async () => {
    await using outbox = await freshOutbox(open);
    const { endpoints } = outbox.sender;
    const secret = generateSecret();
    await endpoints.put({ id: 'merchant-42', url, secrets: [secret] });

    expect(await endpoints.remove('merchant-42')).toBe(true);
    expect(await endpoints.remove('merchant-42')).toBe(false);

    expect(await endpoints.get('merchant-42')).toBeUndefined();
    await expect(outbox.sender.notify({ endpoint: 'merchant-42', ...paid })).rejects.toMatchObject({
      code: 'SENDER_UNKNOWN_ENDPOINT',
    });
    await endpoints.put({ id: 'merchant-43', url, secrets: [secret] });
  });

  test('a secret that is live on another endpoint is refused, and nothing changes', async () => {
    await using outbox = await freshOutbox(open);
    const { endpoints } = outbox.sender;
    const secret = generateSecret();
    await endpoints.put({ id: 'merchant-42', url, secrets: [secret] });
    const before = await endpoints.put({ id: 'merchant-43', url, secrets: [generateSecret()] });

    const shared = endpoints.put({
      id: 'merchant-43',
      url: 'https://other.example/',
      secrets: [generateSecret(), secret],
    });

    await expect(shared).rejects.toBeInstanceOf(SecretInUseError);
    await expect(shared).rejects.toMatchObject({ otherEndpoint: 'merchant-42' });
    await expect(shared).rejects.not.toThrow(secret);
    expect(await endpoints.get('merchant-43')).toEqual(before);
    const otherSource = outbox.another({ source: 'acme-pay-test' });
    await expect(otherSource.endpoints.put({ id: 'merchant-42', url, secrets: [secret] })).rejects.toBeInstanceOf(
      SecretInUseError,
    );
  });

  test('endpoints of one owner may share a secret, and only they', async () => {
    await using outbox = await freshOutbox(open);
    const { endpoints } = outbox.sender;
    const secrets = [generateSecret()];
    await endpoints.put({ id: 'shop-1', url, secrets, owner: 'group-1' });

    await endpoints.put({ id: 'shop-2', url, secrets, owner: 'group-1' });

    await expect(endpoints.put({ id: 'shop-3', url, secrets, owner: 'group-2' })).rejects.toBeInstanceOf(
      SecretInUseError,
    );
    await expect(endpoints.put({ id: 'shop-3', url, secrets })).rejects.toBeInstanceOf(SecretInUseError);
  });

  test('an endpoint that leaves its owner may not take the shared secret along', async () => {
    await using outbox = await freshOutbox(open);
    const { endpoints } = outbox.sender;
    const secrets = [generateSecret()];
    await endpoints.put({ id: 'shop-1', url, secrets, owner: 'group-1' });
    await endpoints.put({ id: 'shop-2', url, secrets, owner: 'group-1' });

    await expect(endpoints.put({ id: 'shop-2', url })).rejects.toBeInstanceOf(SecretInUseError);
    expect(await endpoints.get('shop-2')).toMatchObject({ owner: 'group-1' });
  });

  test.each<[what: string, given: Partial<EndpointInput>, error: new (...args: never[]) => Error]>([
    ['plain http that was not allowed', { url: 'http://merchant.example/' }, EndpointUrlError],
    ['a URL with user info', { url: 'https://user:secret@merchant.example/' }, EndpointUrlError],
    ['an unknown rule of acknowledgement', { ack: 'anything' }, ConfigurationError],
    ['an unknown policy', { policy: 'fastest' }, ConfigurationError],
    ['no attempts', { maxAttempts: 0 }, ConfigurationError],
    ['half a request in flight', { maxInFlight: 0.5 }, ConfigurationError],
    ['an empty list of secrets', { secrets: [] }, ConfigurationError],
    ['six secrets', { secrets: Array.from({ length: 6 }, () => generateSecret()) }, ConfigurationError],
    ['no secret for a new endpoint', { secrets: undefined as never }, ConfigurationError],
    ['an id with a space', { id: 'merchant 42' }, ConfigurationError],
    ['an empty id', { id: '' }, ConfigurationError],
    ['a private network that is none', { allowPrivateNetwork: ['10.0.0.0/33'] }, ConfigurationError],
  ])('%s is refused, and nothing is stored', async (_what, given, error) => {
    await using outbox = await freshOutbox(open);
    const input = { id: 'merchant-42', url, secrets: [generateSecret()], ...given };

    await expect(outbox.sender.endpoints.put(input)).rejects.toBeInstanceOf(error);
    expect(await outbox.sender.endpoints.list()).toEqual([]);
  });
});
