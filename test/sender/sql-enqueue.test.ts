import { describe, expect, test } from 'vitest';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox } from './fresh-outbox.ts';

const call = `select id, created, state from enqueue(source => 'acme-pay', endpoint => 'm', type => $1, biz_id => $2, data => $3::text::json, subject => 'ORDER7')`;

describe.each(databases)('the SQL function on $name', ({ open }) => {
  test('enqueues what notify enqueues: same key, same bytes, and it is delivered', async () => {
    await using outbox = await freshOutbox(open);
    await using merchant = await scriptedEndpoint(200);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    const data = { note: '支付成功\u0000', amount: '1.00' };
    const [row] = await outbox.query<{ id: string }>(call, ['payment.success', 'PAY1', JSON.stringify(data)]);
    expect(row).toMatchObject({ created: true, state: 'pending' });
    expect(row!.id).toMatch(/^ntf_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);

    const again = await outbox.sender.notify({
      endpoint: 'm',
      type: 'payment.success',
      bizId: 'PAY1',
      subject: 'ORDER7',
      data,
    });
    expect(again).toEqual({ id: row!.id, created: false, state: 'pending' });
    await outbox.sender.runOnce();
    expect(merchant.requests[0]?.headers['webhook-id']).toBe(row!.id);
    expect(await outbox.query(call, ['payment.success', 'PAY1', JSON.stringify(data)])).toEqual([
      { id: row!.id, created: false, state: 'delivered' },
    ]);
  });

  test("keeps the caller's JSON text as it is: 1.0 stays 1.0 (R022)", async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    const [row] = await outbox.query<{ id: string }>(call, ['a', 'PAY1', '{"amount": 1.0,"n":1e2}']);
    const { body } = await outbox.sender.operations.show(row!.id);
    expect(body?.toString()).toBe(
      '{"source":"acme-pay","to":"m","type":"a","bizId":"PAY1","subject":"ORDER7","data":{"amount": 1.0,"n":1e2}}',
    );
  });

  test.each([
    ['BN001', 'a type outside its grammar', ['payment success', 'PAY1', '1']],
    ['BN001', 'a business id with a space', ['a', 'PAY 1', '1']],
    ['BN001', 'over 256 KiB', ['a', 'PAY1', JSON.stringify('x'.repeat(262_144))]],
    ['BN001', 'nested too deep', ['a', 'PAY1', '['.repeat(128) + ']'.repeat(128)]],
    ['BN003', 'other bytes under a known key', ['a', 'KNOWN', '2']],
  ])('refuses with %s: %s', async (code, _what, parameters) => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    await outbox.query(call, ['a', 'KNOWN', '1']);
    await expect(outbox.query(call, parameters)).rejects.toMatchObject({ code });
    expect((await outbox.sender.operations.list()).items).toHaveLength(1);
  });

  test('brackets inside strings are not depth, and 127 levels are fine', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    const inString = JSON.stringify(`\\"${'['.repeat(200)}`);
    expect(await outbox.query(call, ['a', 'PAY1', inString])).toMatchObject([{ created: true }]);
    expect(await outbox.query(call, ['a', 'PAY2', '['.repeat(127) + ']'.repeat(127)])).toMatchObject([
      { created: true },
    ]);
  });

  test.each(['2026-02-31T10:00:00Z', '2026-01-01T24:00:00Z', '2026-01-01 10:00:00Z', '2026-01-01T10:00:00'])(
    'refuses the moment %s',
    async (occurredAt) => {
      await using outbox = await freshOutbox(open);
      await outbox.putEndpoint({ id: 'm' });
      const withMoment = call.replace("'ORDER7')", "'ORDER7', occurred_at => $4)");
      await expect(outbox.query(withMoment, ['a', 'PAY1', '1', occurredAt])).rejects.toMatchObject({
        code: expect.stringMatching(/^(BN001|22008)$/) as string,
      });
    },
  );

  test('an address that is no URL after all is an attempt that failed, and settled once', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    const withUrl = call.replace("'ORDER7')", "'ORDER7', url => 'https://[', max_attempts => 2)");
    await outbox.query(withUrl, ['a', 'PAY1', '1']);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, retrying: 1, lost: 0 });
    expect((await outbox.sender.operations.list()).items).toMatchObject([{ state: 'pending', attempts: 1 }]);
  });

  test('refuses a content type that no header can carry', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'm' });
    const raw = `select * from "${outbox.schema}".enqueue('acme-pay', 'm', 'a', 'PAY1', raw => 'x', content_type => $1)`;
    await expect(outbox.query(raw, ['text/plain\r\nx-evil: 1'])).rejects.toMatchObject({ code: 'BN001' });
    expect(await outbox.query(raw, ['text/plain; charset=utf-8'])).toMatchObject([{ created: true }]);
  });

  test('refuses an unknown endpoint with BN002', async () => {
    await using outbox = await freshOutbox(open);
    await expect(outbox.query(call, ['a', 'PAY1', '1'])).rejects.toMatchObject({ code: 'BN002' });
  });
});
