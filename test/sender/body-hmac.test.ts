import { verifyBody } from '@bestnotify/protocol';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const secret = 'a plain secret of the old platform';

async function sent(outbox: Outbox, url: string, notification: object): Promise<void> {
  await outbox.putEndpoint({ id: 'm', url, profile: 'body-hmac', secrets: [secret] });
  await outbox.sender.notify({ endpoint: 'm', ...paid, ...notification });
  await outbox.sender.runOnce();
}

describe.each(databases)('the profile body-hmac on $name', ({ open }) => {
  test('sends data with notification_id and type behind it, its text unchanged, and signs what it sends (R011, R022)', async () => {
    await using outbox = await freshOutbox(open);
    await using merchant = await scriptedEndpoint(200);
    await sent(outbox, merchant.url, { bizId: 'odd,"data":id', data: { amount: '1.00', n: 1.5 } });
    const [request] = merchant.requests;
    const id = (await outbox.sender.operations.list()).items[0]?.id;
    expect(request?.body.toString()).toBe(
      `{"amount":"1.00","n":1.5,"notification_id":"${id}","type":"payment.success"}`,
    );
    expect(request?.headers).toMatchObject({ 'x-event-type': 'payment.success' });
    expect(request?.headers['webhook-signature']).toBeUndefined();
    verifyBody({ headers: request!.headers, body: request!.body, secrets: [secret] });
  });

  test('an empty object gets the members alone; a raw body goes out as it is', async () => {
    await using outbox = await freshOutbox(open);
    await using merchant = await scriptedEndpoint(200);
    await sent(outbox, merchant.url, { data: {} });
    const raw = { bytes: Buffer.from('d6a7b8b6', 'hex'), contentType: 'text/plain; charset=GBK' };
    await outbox.sender.notify({ endpoint: 'm', type: 'a', bizId: 'RAW', raw });
    await outbox.sender.runOnce();
    expect(Object.keys(JSON.parse(merchant.requests[0]!.body.toString()) as object)).toEqual([
      'notification_id',
      'type',
    ]);
    expect(merchant.requests[1]?.body.toString('hex')).toBe('d6a7b8b6');
  });

  test('a key of one profile is refused for the other', async () => {
    await using outbox = await freshOutbox(open);
    const whsec = await outbox.putEndpoint({ id: 'v1' });
    await expect(outbox.putEndpoint({ id: 'm', profile: 'body-hmac', secrets: [whsec] })).rejects.toMatchObject({
      code: 'PROTOCOL_SECRET',
    });
    await expect(outbox.putEndpoint({ id: 'n', secrets: [secret] })).rejects.toMatchObject({ code: 'PROTOCOL_SECRET' });
  });
});
