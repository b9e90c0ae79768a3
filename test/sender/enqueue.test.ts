import { decodeEnvelope } from '@bestnotify/protocol';
import { PayloadConflictError, UnknownEndpointError, type NotificationInput } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };

describe.each(databases)('notify on $name', ({ open }) => {
  const opened = async (options: Parameters<typeof freshOutbox>[1] = {}) => {
    const outbox = await freshOutbox(open, options);
    await outbox.putEndpoint({ id: 'merchant-42' });
    return outbox;
  };

  test('the same event with the same bytes returns the notification that exists (R067, R188)', async () => {
    await using outbox = await opened();
    const { sender } = outbox;

    const first = await sender.notify(event);
    expect(first).toMatchObject({ created: true, state: 'pending' });
    expect(first.id).toMatch(/^ntf_[0-9a-f-]{36}$/);
    expect(await sender.notify(event)).toEqual({ ...first, created: false });
    expect(await sender.notify({ ...event, data: { ...event.data } })).toEqual({ ...first, created: false });
    expect((await sender.operations.list()).items).toHaveLength(1);
  });

  test('the same event with other bytes is a conflict, and the first stays as it was (R067, R188)', async () => {
    await using outbox = await opened();
    const { sender } = outbox;
    const { id } = await sender.notify(event);

    const conflict = sender.notify({ ...event, data: { amount: '900.00' } });

    await expect(conflict).rejects.toBeInstanceOf(PayloadConflictError);
    await expect(conflict).rejects.toMatchObject({ code: 'SENDER_PAYLOAD_CONFLICT', id, bizId: 'PAY1' });
    const { items } = await sender.operations.list();
    expect(items.map((item) => item.id)).toEqual([id]);
    expect(decodeEnvelope((await sender.operations.show(id)).body ?? Buffer.alloc(0)).data).toEqual(event.data);
  });

  test('another endpoint, type, business id or source is another event', async () => {
    await using outbox = await opened();
    await outbox.putEndpoint({ id: 'merchant-43' });
    const test = outbox.another({ source: 'acme-pay-test' });
    await test.endpoints.put({ id: 'merchant-42', secrets: [`whsec_${Buffer.alloc(24).toString('base64')}`] });

    const results = [
      await outbox.sender.notify(event),
      await outbox.sender.notify({ ...event, endpoint: 'merchant-43' }),
      await outbox.sender.notify({ ...event, type: 'payment.closed' }),
      await outbox.sender.notify({ ...event, bizId: 'PAY2' }),
      await test.notify(event),
    ];

    expect(results.every((result) => result.created)).toBe(true);
    expect(new Set(results.map((result) => result.id)).size).toBe(5);
    expect((await test.operations.list()).items).toHaveLength(1); // each source sees its own
  });

  test('two refunds of one order are two events', async () => {
    await using outbox = await opened();
    const refund = { endpoint: 'merchant-42', type: 'refund.success', subject: 'ORDER7', data: { amount: '5.00' } };

    const results = await outbox.sender.notifyMany([
      { ...refund, bizId: 'RF1' },
      { ...refund, bizId: 'RF2' },
    ]);

    expect(results.map((result) => result.created)).toEqual([true, true]);
    expect((await outbox.sender.operations.list({ subject: 'ORDER7' })).items).toHaveLength(2);
  });

  test('notifyMany answers in the order given, and counts an event that it names twice once', async () => {
    await using outbox = await opened();
    const known = await outbox.sender.notify({ ...event, bizId: 'B' });

    const results = await outbox.sender.notifyMany(['C', 'B', 'A', 'C'].map((bizId) => ({ ...event, bizId })));

    expect(results.map((result) => result.created)).toEqual([true, false, true, false]);
    expect(results[1]?.id).toBe(known.id);
    expect(results[3]?.id).toBe(results[0]?.id);
    expect((await outbox.sender.operations.list()).items).toHaveLength(3);
    expect(await outbox.sender.notifyMany([])).toEqual([]);
  });

  test('of a call whose events exist in part the others are written as given and in the order given', async () => {
    await using outbox = await opened();
    await outbox.putEndpoint({ id: 'merchant-43' });
    const { sender } = outbox;
    const events = Array.from({ length: 60 }, (_, index) => ({
      endpoint: `merchant-${42 + (index % 2)}`,
      type: 'payment.success',
      bizId: `PAY${index}`,
      data: { index, text: '好'.repeat(index) },
      ...(index % 3 === 0 && { subject: `ORDER${index}` }),
    }));
    const known = await sender.notifyMany(events.filter((_, index) => index % 5 === 0));

    for (let round = 1; round < 8; round++) await sender.notifyMany([{ ...event, bizId: `WARM${round}` }]); // until the plan is the prepared one
    const results = await sender.notifyMany(events);

    expect(results.map(({ created }) => created)).toEqual(events.map((_, index) => index % 5 !== 0));
    expect(results.filter(({ created }) => !created).map(({ id }) => id)).toEqual(known.map(({ id }) => id));
    const { items } = await sender.operations.list({ limit: 100 });
    const fresh = results.flatMap(({ id, created }) => (created ? [id] : []));
    expect(items.map(({ id }) => id).slice(0, fresh.length)).toEqual(fresh.toReversed()); // the newest first
    for (const [index, { id }] of results.entries()) {
      const shown = await sender.operations.show(id);
      expect(shown).toMatchObject({ endpoint: events[index]?.endpoint, subject: events[index]?.subject ?? null });
      expect(decodeEnvelope(shown.body ?? Buffer.alloc(0)).data).toEqual(events[index]?.data);
    }
  });

  test('notifyMany writes nothing when one of its events cannot be written', async () => {
    await using outbox = await opened();
    const { sender } = outbox;
    const { id } = await sender.notify(event);
    const fresh = { ...event, bizId: 'FRESH' };

    const attempts: [readonly NotificationInput[], new (...args: never[]) => Error][] = [
      [[fresh, { ...event, data: 'other' }], PayloadConflictError], // with the one in the outbox
      [[fresh, { ...fresh, data: 'other' }], PayloadConflictError], // with one of the same call
      [[fresh, { ...event, endpoint: 'nobody', bizId: 'X' }], UnknownEndpointError],
    ];

    for (const [events, error] of attempts) await expect(sender.notifyMany(events)).rejects.toBeInstanceOf(error);
    expect((await sender.operations.list()).items.map((item) => item.id)).toEqual([id]);
    expect(await sender.notify(fresh)).toMatchObject({ created: true });
  });

  test('an endpoint of another source does not count', async () => {
    await using outbox = await opened();
    const other = outbox.another({ source: 'acme-pay-test' });

    await expect(other.notify(event)).rejects.toMatchObject({
      code: 'SENDER_UNKNOWN_ENDPOINT',
      endpoint: 'merchant-42',
    });
  });

  test('every JSON string is legal in data: NUL and half a character reach the body escaped (R025, R157)', async () => {
    await using outbox = await opened();
    const data = { nul: 'a\0b', half: '\ud83d', 'key\0': '珊瑚 😊', deep: ['\u2028', '</script>'] };

    const { id } = await outbox.sender.notify({ ...event, data });

    const { body, contentType } = await outbox.sender.operations.show(id);
    expect(contentType).toBe('application/json');
    expect(body?.toString()).toContain(String.raw`"half":"\ud83d"`);
    expect(decodeEnvelope(body ?? Buffer.alloc(0))).toMatchObject({ source: 'acme-pay', to: 'merchant-42', data });
  });

  test('a raw body is kept byte for byte, with its content type', async () => {
    await using outbox = await opened();
    const bytes = Buffer.from([0, 0xff, 0xd6, 0xa7, 0x0d, 0x0a, 0x24, 0x31]); // no text in any encoding
    const raw = { bytes: new Uint8Array(bytes), contentType: 'application/xml; charset=GBK' };

    const { id } = await outbox.sender.notify({ endpoint: 'merchant-42', type: 'raw', bizId: 'R1', raw });
    await outbox.sender.notify({ endpoint: 'merchant-42', type: 'raw', bizId: 'R2', raw: { bytes: Buffer.alloc(0) } });

    expect(await outbox.sender.operations.show(id)).toMatchObject({ body: bytes, contentType: raw.contentType });
    const { items } = await outbox.sender.operations.list({ bizId: 'R2' });
    expect(await outbox.sender.operations.show(items[0]?.id ?? '')).toMatchObject({
      body: Buffer.alloc(0),
      contentType: 'application/octet-stream',
    });
  });

  test('a call with bodies of many sizes gives each notification its own', async () => {
    await using outbox = await opened();
    const events = [0, 1, 5000, 255, 256 * 1024 - 200].map((length, n) => ({
      ...event,
      bizId: `S${n}`,
      data: '€'.repeat(Math.floor(length / 3)),
    }));

    const results = await outbox.sender.notifyMany(events);

    for (const [n, { id }] of results.entries()) {
      const { body } = await outbox.sender.operations.show(id);
      expect(decodeEnvelope(body ?? Buffer.alloc(0)).data).toBe(events[n]?.data);
    }
  });

  test('what holds for a type is used where the notification says nothing', async () => {
    const policies = { quick: { gapsMs: [1000, 2000] } };
    const types = { 'payment.success': { policy: 'quick', maxAttempts: 2, lane: 'urgent' as const } };
    await using outbox = await opened({ policies, types });
    const { sender } = outbox;

    const byType = await sender.notify(event);
    const byItself = await sender.notify({
      ...event,
      bizId: 'PAY2',
      policy: 'article',
      maxAttempts: 5,
      lane: 'normal',
    });
    const plain = await sender.notify({ ...event, type: 'toString' });

    const stored = async (id: string) => {
      const { policy, maxAttempts } = await sender.operations.show(id);
      const [row] = await outbox.query<{ lane: number }>(
        'select o.lane::int from outbox o join notification n using (number) where n.id = $1',
        [id.slice(4)],
      );
      return { policy, maxAttempts, lane: row?.lane };
    };
    expect(await stored(byType.id)).toEqual({ policy: '{"gapsMs":[1000,2000]}', maxAttempts: 2, lane: 0 });
    expect(await stored(byItself.id)).toEqual({ policy: 'article', maxAttempts: 5, lane: 1 });
    expect(await stored(plain.id)).toEqual({ policy: null, maxAttempts: null, lane: 1 });
  });

  test('once only the key of an event is left, notify says what became of it', async () => {
    await using outbox = await opened();
    const { id } = await outbox.sender.notify(event);
    await outbox.query('update notification_key set last_state = 1');
    await outbox.query('delete from outbox');
    await outbox.query('delete from notification');

    expect(await outbox.sender.notify(event)).toEqual({ id, created: false, state: 'delivered' });
    await expect(outbox.sender.notify({ ...event, data: 'other' })).rejects.toBeInstanceOf(PayloadConflictError);
    await expect(outbox.sender.operations.resend(id)).rejects.toThrow('has been pruned');
    await expect(outbox.sender.operations.show(id)).rejects.toMatchObject({ code: 'SENDER_UNKNOWN_NOTIFICATION' });
  });
});
