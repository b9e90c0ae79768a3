import { generateKeyPair, parseVerifyingKey, verifyNotification } from '@bestnotify/protocol';
import { generateSecret, SecretSealError, type EndpointInput } from '@bestnotify/sender';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const keyA = Buffer.alloc(32, 7).toString('base64');
const keyB = Buffer.alloc(32, 8).toString('base64');

function verifies(request: { headers: Record<string, unknown>; body: Buffer }, key: string): boolean {
  try {
    verifyNotification({
      headers: request.headers as Record<string, string>,
      body: request.body,
      keys: [parseVerifyingKey(key)],
    });
    return true;
  } catch {
    return false;
  }
}

describe.each(databases)('keys on $name', ({ open }) => {
  test('a rotation signs with both keys during the overlap and with the new one after it (R038)', async () => {
    await using outbox = await freshOutbox(open);
    await using merchant = await scriptedEndpoint(200);
    const old = await outbox.putEndpoint({ id: 'm', url: merchant.url });
    const { secret, id } = await outbox.sender.operations.rotateSecret('m', { actor: 'ann' });
    await outbox.sender.notify({ endpoint: 'm', ...paid });
    await outbox.sender.runOnce();
    expect([verifies(merchant.requests[0]!, old), verifies(merchant.requests[0]!, secret)]).toEqual([true, true]);

    await outbox.query('update endpoint_secret set retires_at = now() where retires_at is not null');
    await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'PAY2' });
    await outbox.sender.runOnce();
    expect([verifies(merchant.requests[1]!, old), verifies(merchant.requests[1]!, secret)]).toEqual([false, true]);
    expect((await outbox.sender.endpoints.get('m'))?.secrets).toEqual([{ id, fingerprint: id }]);
    expect(JSON.stringify(await outbox.sender.operations.audit())).not.toContain(secret);
  });

  test('a resident worker signs with a rotated key from its next claim on', async () => {
    await using outbox = await freshOutbox(open);
    await using merchant = await scriptedEndpoint(200);
    const old = await outbox.putEndpoint({ id: 'm', url: merchant.url });
    outbox.sender.startWorker();
    await outbox.sender.notify({ endpoint: 'm', ...paid });
    await merchant.received(1);
    const { secret } = await outbox.sender.operations.rotateSecret('m', { overlapHours: 0 });
    await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'PAY2' });
    const requests = await merchant.received(2);
    expect([verifies(requests[1]!, old), verifies(requests[1]!, secret)]).toEqual([false, true]);
  });

  test('Ed25519: the merchant holds only the public key', async () => {
    await using outbox = await freshOutbox(open);
    await using merchant = await scriptedEndpoint(200);
    const { privateKey, publicKey } = generateKeyPair();
    await outbox.putEndpoint({ id: 'm', url: merchant.url, secrets: [privateKey] });
    await outbox.sender.notify({ endpoint: 'm', ...paid });
    await outbox.sender.runOnce();
    expect(verifies(merchant.requests[0]!, publicKey)).toBe(true);
  });

  test('a sixth live key is refused, and so is one that another endpoint has', async () => {
    await using outbox = await freshOutbox(open);
    const other = await outbox.putEndpoint({ id: 'other' });
    await outbox.putEndpoint({ id: 'm' });
    for (let index = 0; index < 4; index += 1) await outbox.sender.operations.rotateSecret('m');
    await expect(outbox.sender.operations.rotateSecret('m')).rejects.toMatchObject({ code: 'SENDER_CONFIGURATION' });
    await expect(outbox.sender.operations.rotateSecret('m', { secret: other, overlapHours: 0 })).rejects.toMatchObject({
      code: 'SENDER_SECRET_IN_USE',
    });
  });

  test('stored secrets are sealed for their endpoint: one that was moved or whose key is gone costs no attempt (R194)', async () => {
    await using outbox = await freshOutbox(open, { secretStorage: { keys: [{ id: 'a', key: keyA }] } });
    await using merchant = await scriptedEndpoint(200);
    const secret = await outbox.putEndpoint({ id: 'm', url: merchant.url });
    const [stored] = await outbox.query<{ secret: string }>('select secret from endpoint_secret');
    expect(stored!.secret).toMatch(/^sealed1\.a\./);
    expect(stored!.secret).not.toContain(secret.slice(6));

    await outbox.sender.notify({ endpoint: 'm', ...paid });
    const errors: string[] = [];
    const stranger = outbox.another({ secretStorage: { keys: [{ id: 'b', key: keyB }] } });
    stranger.on('error', ({ error }) => errors.push((error as { code?: string }).code ?? ''));
    expect(await stranger.runOnce()).toMatchObject({ retrying: 1 });
    expect(errors).toContain('SENDER_SECRET_SEAL');
    expect((await outbox.sender.operations.list()).items[0]).toMatchObject({ attempts: 0, state: 'pending' });

    await outbox.age({ byMs: 60_000 });
    const both = outbox.another({
      secretStorage: {
        keys: [
          { id: 'b', key: keyB },
          { id: 'a', key: keyA },
        ],
      },
    });
    expect(await both.runOnce()).toMatchObject({ delivered: 1 });
    await outbox.putEndpoint({ id: 'n', url: merchant.url });
    await outbox.query(
      'update endpoint_secret set secret = (select secret from endpoint_secret order by endpoint_key limit 1)',
    );
    await outbox.sender.notify({ endpoint: 'n', ...paid });
    expect(await outbox.sender.runOnce()).toMatchObject({ retrying: 1, delivered: 0 });
  });

  test('resealing moves every secret and credential to the new key, after which the old one may go', async () => {
    await using outbox = await freshOutbox(open, { secretStorage: { keys: [{ id: 'a', key: keyA }] } });
    await using merchant = await scriptedEndpoint(200);
    const secret = await outbox.putEndpoint({ id: 'm', url: merchant.url, auth: { bearer: 'token-of-merchant' } });
    const both = outbox.another({
      secretStorage: {
        keys: [
          { id: 'b', key: keyB },
          { id: 'a', key: keyA },
        ],
      },
    });
    expect([await both.operations.resealSecrets(), await both.operations.resealSecrets()]).toEqual([2, 0]);

    await outbox.sender.notify({ endpoint: 'm', ...paid });
    const newOnly = outbox.another({ secretStorage: { keys: [{ id: 'b', key: keyB }] } });
    expect(await newOnly.runOnce()).toMatchObject({ delivered: 1 });
    expect(verifies(merchant.requests[0]!, secret)).toBe(true);
    expect(merchant.requests[0]?.headers.authorization).toBe('Bearer token-of-merchant');
  });

  test('a resolver gives the keys at the time of sending, and nothing is stored', async () => {
    const secret = generateSecret();
    await using outbox = await freshOutbox(open, { secretStorage: { resolve: () => Promise.resolve([secret]) } });
    await using merchant = await scriptedEndpoint(200);
    await outbox.sender.endpoints.put({ id: 'm', url: merchant.url, allowHttp: true, allowPrivateNetwork: true });
    await outbox.sender.notify({ endpoint: 'm', ...paid });
    await outbox.sender.runOnce();
    expect(verifies(merchant.requests[0]!, secret)).toBe(true);
    expect(await outbox.query('select 1 from endpoint_secret')).toEqual([]);
  });

  test('static headers and credentials go out with the request and are sealed in the table', async () => {
    await using outbox = await freshOutbox(open);
    await using merchant = await scriptedEndpoint(200);
    await outbox.putEndpoint({
      id: 'm',
      url: merchant.url,
      headers: { 'x-tenant': 't1' },
      auth: { bearer: 'token-of-merchant' },
    });
    await outbox.sender.notify({ endpoint: 'm', ...paid });
    await outbox.sender.runOnce();
    expect(merchant.requests[0]?.headers).toMatchObject({
      'x-tenant': 't1',
      authorization: 'Bearer token-of-merchant',
    });
    const [row] = await outbox.query<{ settings: string }>('select settings from endpoint_wire');
    expect(row!.settings).not.toContain('token-of-merchant');
  });

  test('headers, credentials and TLS settings are kept where a put leaves them out, replaced one by one, and taken away by null', async () => {
    await using outbox = await freshOutbox(open, { endpointDefaults: { headers: { 'x-default': 'd' } } });
    await using merchant = await scriptedEndpoint(200);
    const headersAfter = async (change: Partial<EndpointInput>) => {
      await outbox.putEndpoint({ id: 'm', url: merchant.url, ...change });
      await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: `PAY${merchant.requests.length}` });
      await outbox.sender.runOnce();
      const { headers } = merchant.requests.at(-1) ?? expect.fail();
      return [headers['x-tenant'], headers['x-default'], headers.authorization];
    };

    expect(await headersAfter({})).toEqual([undefined, 'd', undefined]);
    const own = { headers: { 'x-tenant': 't1' }, auth: { bearer: 'token' } };
    expect(await headersAfter(own)).toEqual(['t1', undefined, 'Bearer token']);
    expect(await headersAfter({ maxInFlight: 3 })).toEqual(['t1', undefined, 'Bearer token']);
    expect(await headersAfter({ auth: { bearer: 'other' } })).toEqual(['t1', undefined, 'Bearer other']);
    expect(await headersAfter({ headers: null })).toEqual([undefined, undefined, 'Bearer other']);
    expect(await headersAfter({ maxInFlight: 4 })).toEqual([undefined, undefined, 'Bearer other']); // no default comes back
    expect(await headersAfter({ auth: null })).toEqual([undefined, undefined, undefined]);
  });

  test('what cannot be opened is not thrown away by a put that does not mention it', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm', auth: { bearer: 'token-of-merchant' } });
    const other = outbox.another({
      secretStorage: { keys: [{ id: 'other', key: Buffer.alloc(32, 2).toString('base64') }] },
    });
    const put = (more: Partial<EndpointInput>) =>
      other.endpoints.put({ id: 'm', secrets: [generateSecret()], ...more });

    await expect(put({})).rejects.toBeInstanceOf(SecretSealError);
    await put({ headers: null, auth: null, tls: null });

    expect(await outbox.query('select 1 from endpoint_wire')).toEqual([]);
  });

  test('a secret that is given twice is stored once; two of one id are refused', async () => {
    await using outbox = await freshOutbox(open);
    const secret = generateSecret();
    const put = (secrets: NonNullable<EndpointInput['secrets']>) => outbox.sender.endpoints.put({ id: 'm', secrets });

    expect((await put([secret, secret])).secrets).toHaveLength(1);
    await expect(
      put([
        { id: 'a', secret },
        { id: 'a', secret: generateSecret() },
      ]),
    ).rejects.toMatchObject({ code: 'SENDER_CONFIGURATION', option: 'secrets' });
  });
});
