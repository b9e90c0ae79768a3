import { createHmac } from 'node:crypto';
import { parseVerifyingKey, verifyNotification } from '@bestnotify/protocol';
import { ConfigurationError } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint, type RecordedRequest } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const event = { endpoint: 'merchant-42', ...paid };

describe.each(databases)('a delivery on $name', ({ open }) => {
  test('is a signed POST of the bytes that were enqueued, and an acknowledged one is over', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    const secret = await outbox.putEndpoint({ id: 'merchant-42', url: `${endpoint.url}?shop=1` });
    const { id } = await outbox.sender.notify({ ...event, data: { name: 'Größe 珊瑚' } });

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, delivered: 1, lost: 0 });

    const [request] = endpoint.requests;
    const { body, ...row } = await outbox.sender.operations.show(id);
    expect(row).toMatchObject({ state: 'delivered', reason: 'acknowledged', attempts: 1, isClaimed: false });
    expect(request).toMatchObject({ method: 'POST', path: '/notify?shop=1' });
    expect(request?.headers).toMatchObject({
      ...{ 'webhook-id': id, 'content-type': 'application/json', 'x-event-type': 'payment.success' },
      ...{ 'bestnotify-attempt': '1', 'accept-encoding': 'identity' },
    });
    expect(request?.body).toEqual(body); // R010, R011
    const verified = verifyNotification({
      headers: request?.headers ?? {},
      body: request?.body ?? Buffer.alloc(0),
      keys: [parseVerifyingKey(secret)],
    });
    expect(verified).toMatchObject({ id, version: 'v1' });
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
    expect(endpoint.requests).toHaveLength(1);
  });

  test('repeats the same id and the same bytes, signed anew each time, also when it is resent by hand (R022, R185)', async () => {
    await using endpoint = await scriptedEndpoint(500, 'fail', 200);
    await using outbox = await freshOutbox(open);
    const secret = await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, policy: 'article' });
    const data = { amount: 1.0, '10': 1, '2': 2, tiny: 1e-7, sum: 0.1 + 0.2 };
    const { id } = await outbox.sender.notify({ ...event, data });

    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await outbox.sender.runOnce();
      await outbox.age({ byMs: 100_000 });
    }
    await outbox.sender.operations.resend(id);
    await outbox.sender.runOnce();

    const requests = await endpoint.received(4);
    expect(new Set(requests.map(({ body }) => body.toString('hex'))).size).toBe(1);
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual([id, id, id, id]);
    expect(requests.map(({ headers }) => headers['bestnotify-attempt'])).toEqual(['1', '2', '3', '1']);
    for (const { headers, body } of requests) {
      expect(verifyNotification({ headers, body, keys: [parseVerifyingKey(secret)] }).id).toBe(id);
    }
  });

  test("goes to the notification's own URL, with the endpoint's key, on each attempt", async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using own = await scriptedEndpoint(500, 200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, policy: 'article' });

    await outbox.sender.notify({ ...event, url: `${own.url}/ORDER7` });
    await outbox.sender.runOnce();
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    expect(own.requests.map(({ path }) => path)).toEqual(['/notify/ORDER7', '/notify/ORDER7']);
    expect(endpoint.requests).toEqual([]);
  });

  test('without any URL is a failure that says so, and waits for one', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    const secret = await outbox.putEndpoint({ id: 'merchant-42', policy: 'article' });
    await outbox.sender.endpoints.put({ id: 'merchant-42', policy: 'article' });
    const { id } = await outbox.sender.notify(event);

    await outbox.sender.runOnce();
    expect((await outbox.sender.operations.show(id)).attemptLog).toMatchObject([
      { outcome: 'not-sent', because: 'invalid-url' },
    ]);
    await outbox.sender.endpoints.put({
      ...{ id: 'merchant-42', url: endpoint.url, secrets: [secret], allowHttp: true, allowPrivateNetwork: true },
    });
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  test.each([
    ['GBK that calls itself JSON', 'd6a7b8b6'],
    ['a NUL among JSON', '227800ff22'],
    ['half a character', '22e4b8'],
    ['nothing at all', ''],
    [
      'text of four-byte characters, quotes and backslashes',
      Buffer.from(String.raw`{"a":"\u0000 \\ \" 𠮷 ’"}`).toString('hex'),
    ],
  ])('sends %s byte for byte, and what is due beside it', async (_name, hex) => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const bytes = Buffer.from(hex, 'hex');
    const raw = { bytes, contentType: 'application/json' };
    await outbox.sender.notify({ endpoint: 'merchant-42', type: 'raw', bizId: 'R1', raw });
    await outbox.sender.notify({ ...event, data: { name: 'Größe 珊瑚' } });

    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 2, delivered: 2, lost: 0 });

    const bodies = endpoint.requests.map(({ body }) => body.toString('hex'));
    expect(bodies).toContain(hex);
    expect(bodies.find((body) => body !== hex)).toContain(Buffer.from('"Größe 珊瑚"').toString('hex'));
  });

  test('sends a raw body as it is, under its own content type', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const bytes = Buffer.from('<xml>\r\n<a/>\0</xml>');
    await outbox.sender.notify({
      endpoint: 'merchant-42',
      type: 'raw',
      bizId: 'R1',
      raw: { bytes, contentType: 'text/xml' },
    });

    await outbox.sender.runOnce();

    expect(endpoint.requests[0]?.body).toEqual(bytes);
    expect(endpoint.requests[0]?.headers['content-type']).toBe('text/xml');
  });

  test.each([
    ['success', 'Success\r\n', 'success!'],
    ['status', '<html>', { status: 302, body: 'success' }],
    ['json-code', '{"code":"SUCCESS"}', '{"code":"FAIL"}'],
    ['own', 'OK', 'ok'],
  ] as const)('is judged by the rule of its endpoint: %s', async (ack, good, bad) => {
    await using endpoint = await scriptedEndpoint(bad, good);
    await using outbox = await freshOutbox(open, { acks: { own: ({ body }) => body.toString() === 'OK' } });
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, ack, policy: 'article' });
    const { id } = await outbox.sender.notify(event);

    await outbox.sender.runOnce();
    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'pending', attempts: 1 });
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'delivered', attempts: 2 });
  });

  test('keeps what was nearly right about a reply, and a reply that is no text (R101)', async () => {
    await using endpoint = await scriptedEndpoint('"success"', { status: 500, body: Buffer.from('00ffd6a7', 'hex') });
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, policy: 'article' });
    const { id } = await outbox.sender.notify(event);

    await outbox.sender.runOnce();
    await outbox.age({ byMs: 11_000 });
    await outbox.sender.runOnce();

    const { attemptLog } = await outbox.sender.operations.show(id);
    expect(attemptLog).toMatchObject([
      { ordinal: 1, status: 200, outcome: 'refused', because: 'wrong-reply', snippet: Buffer.from('"success"') },
      { ordinal: 2, status: 500, because: 'status-500', snippet: Buffer.from('00ffd6a7', 'hex') },
    ]);
    expect(attemptLog[0]?.hint).toMatch(/JSON string/);
  });

  test('leaks the secret neither in the request nor in the log nor in an event (R041)', async () => {
    await using endpoint = await scriptedEndpoint({ status: 500, body: 'x' });
    await using outbox = await freshOutbox(open);
    const secret = await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    endpoint.script((request, response) => {
      response.writeHead(500).end(`debug page: ${secret} ${JSON.stringify(request.headers)}`);
    });
    const { id } = await outbox.sender.notify(event);
    const events: unknown[] = [];
    for (const name of ['attempt', 'refused', 'error', 'dead'] as const)
      outbox.sender.on(name, (facts) => events.push(facts));

    await outbox.sender.runOnce();

    const seen = [
      endpoint.requests,
      events,
      await outbox.sender.operations.show(id),
      await outbox.sender.endpoints.list(),
    ];
    const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64');
    const [request] = endpoint.requests;
    const text = JSON.stringify(seen, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    );
    for (const form of [secret, bytes.toString('base64'), bytes.toString('base64url'), bytes.toString('hex')]) {
      expect(text).not.toContain(form);
    }
    const signature = String(request?.headers['webhook-signature']).slice('v1,'.length);
    expect((await outbox.sender.operations.show(id)).attemptLog[0]?.snippet?.toString()).not.toContain(signature);
    expect(signature).not.toBe(createHmac('sha256', '').update('').digest('base64'));
  });

  test('takes urgent notifications first, whatever waits', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const bizIds = Array.from({ length: 20 }, (_, n) => `N${n}`);
    await outbox.sender.notifyMany(bizIds.map((bizId) => ({ ...event, bizId })));
    await outbox.sender.notifyMany(['U1', 'U2'].map((bizId) => ({ ...event, bizId, lane: 'urgent' as const })));

    await outbox.sender.runOnce({ concurrency: 1, prefetch: 0, maxInFlightPerEndpoint: 1 });

    expect(endpoint.requests.slice(0, 2).map(bizIdOf).sort()).toEqual(['U1', 'U2']);
    expect(endpoint.requests).toHaveLength(22);
  });
});

describe.each(databases)('runOnce on $name', ({ open }) => {
  test('sends at most as many as it is told, and the next pass goes on', async () => {
    await using endpoint = await scriptedEndpoint({ delayMs: 20 });
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
    const eightSlots = { concurrency: 8, prefetch: 0, maxInFlightPerEndpoint: 8 }; // more are free, in the end, than may be claimed
    await outbox.sender.notifyMany(Array.from({ length: 25 }, (_, n) => ({ ...event, bizId: `PAY${n}` })));

    expect(await outbox.sender.runOnce({ limit: 10, ...eightSlots })).toMatchObject({
      claimed: 10,
      delivered: 10,
    });
    expect(endpoint.requests).toHaveLength(10);
    expect(await outbox.sender.runOnce({ limit: 1 })).toMatchObject({ claimed: 1, delivered: 1 });
    expect(await outbox.sender.runOnce({ limit: 100 })).toMatchObject({ claimed: 14, delivered: 14 });
    expect(await outbox.sender.runOnce()).toEqual({
      claimed: 0,
      delivered: 0,
      retrying: 0,
      dead: 0,
      returned: 0,
      lost: 0,
    });
  });

  test('sends all that is due, however few slots it has', async () => {
    await using endpoint = await scriptedEndpoint(200);
    await using outbox = await freshOutbox(open);
    for (const id of ['a', 'b', 'c']) {
      await outbox.putEndpoint({ id, url: endpoint.url });
      await outbox.sender.notifyMany(
        Array.from({ length: 15 }, (_, n) => ({ ...event, endpoint: id, bizId: `PAY${n}` })),
      );
    }

    const summary = await outbox.sender.runOnce({ concurrency: 2, prefetch: 1, maxInFlightPerEndpoint: 1 });

    expect(summary).toMatchObject({ delivered: 45, lost: 0 });
    expect(endpoint.mostInFlight).toBeLessThanOrEqual(2);
  });

  test('keeps at most an eighth of its slots in flight to one endpoint, or what the endpoint says (R172)', async () => {
    await using plain = await scriptedEndpoint({ delayMs: 5 });
    await using narrow = await scriptedEndpoint({ delayMs: 5 });
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'plain', url: plain.url });
    await outbox.putEndpoint({ id: 'narrow', url: narrow.url, maxInFlight: 1 });
    for (const endpoint of ['plain', 'narrow']) {
      await outbox.sender.notifyMany(Array.from({ length: 20 }, (_, n) => ({ ...event, endpoint, bizId: `PAY${n}` })));
    }

    await outbox.sender.runOnce({ concurrency: 24 });

    expect(plain.requests).toHaveLength(20);
    expect(narrow.requests).toHaveLength(20);
    expect(plain.mostInFlight).toBeLessThanOrEqual(3);
    expect(narrow.mostInFlight).toBe(1);
  });

  test('is refused with options that cannot work', async () => {
    await using outbox = await freshOutbox(open);
    const { sender } = outbox;

    await expect(sender.runOnce({ concurrency: 0 })).rejects.toBeInstanceOf(ConfigurationError);
    await expect(sender.runOnce({ leaseMs: 10_000, requestTimeoutMs: 10_000 })).rejects.toMatchObject({
      option: 'leaseMs',
    });
    await expect(sender.runOnce({ leaseMs: 14_999 })).rejects.toMatchObject({ option: 'leaseMs' });
    expect(await sender.runOnce({ leaseMs: 15_000 })).toMatchObject({ claimed: 0 });
    expect(() => sender.startWorker({ minPollMs: 100, maxPollMs: 50 })).toThrow(ConfigurationError);
  });
});

function bizIdOf({ body }: RecordedRequest): string {
  return (JSON.parse(body.toString()) as { bizId: string }).bizId;
}
