import { gzipSync } from 'node:zlib';
import { captureRawBody, type ReceiverOptions } from '@bestnotify/receiver';
import express5 from 'express';
import express4 from 'express4';
import { describe, expect, test } from 'vitest';
import { genuine, line, listening, onTheWire, post, rawExchange, receiverFor, secret, source, to } from './merchant.ts';
import { signedRequest } from '@bestnotify/receiver/testing';

const versions = [
  { name: 'Express 5', express: express5 },
  { name: 'Express 4', express: express4 },
];

describe.each(versions)('the request as it comes in, on $name', ({ express }) => {
  const mounted = async (options: Partial<ReceiverOptions> = {}, before: express5.RequestHandler[] = []) => {
    const bodies: string[] = [];
    const errors: unknown[] = [];
    const receiver = receiverFor({
      handler: (_notification, { rawBody }) => void bodies.push(rawBody.toString()),
      onError: ({ error }) => errors.push(error),
      ...options,
    });
    const app = express();
    for (const middleware of before) app.use(middleware);
    app.all('/notify', receiver.express());
    const server = await listening(app);
    return { ...server, receiver, bodies, errors, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  };

  test('R001 R002: bytes that a parser would print differently are verified as they came', async () => {
    await using server = await mounted();
    const text = `{ "source":"${source}", "to":"${to}","type":"a","bizId":"1", "data": {"a": 1.0, "10": 1, "2": 2, "t":"\\u001B[34m \\u2665", "u":"https:\\/\\/a.b\\/c"} }`;
    const { headers, body } = genuine({}, { body: text });
    expect(await post(server.url, { headers, body })).toBe('200 success handled');
    expect(server.bodies).toEqual([text]);
  });

  test.each([undefined, 'application/x-www-form-urlencoded', 'application/cloudevents+json', 'text/plain', 'nonsense'])(
    'R046 R047 R053: the content type %s does not matter',
    async (contentType) => {
      await using server = await mounted();
      const { headers, body } = genuine();
      delete headers['content-type'];
      if (contentType !== undefined) headers['content-type'] = contentType;
      const [head, bytes] = onTheWire({ headers, body });
      expect(await rawExchange(server.port, [head, bytes])).toMatch(/^HTTP\/1.1 200 [^]*success$/);
    },
  );

  test.each(['charset=UTF8', 'charset="utf-8"', 'charset=utf-8; boundary=x', 'charset=', 'charset=Utf-8'])(
    'R053: the label %s is UTF-8',
    async (label) => {
      await using server = await mounted();
      const { headers, body } = genuine({}, { headers: { 'content-type': `application/json; ${label}` } });
      expect(await post(server.url, { headers, body })).toBe('200 success handled');
    },
  );

  test('R052: another charset is refused, but only to somebody who can sign', async () => {
    await using server = await mounted();
    const label = { 'content-type': 'application/x-www-form-urlencoded; charset=GBK' };
    expect(await post(server.url, { headers: label, body: 'a=1' })).toBe('401 fail invalid-signature');
    expect(await post(server.url, genuine({}, { headers: label }))).toBe('415 fail unsupported-encoding');
  });

  test('R013: genuine bytes that are not UTF-8 are refused, never repaired', async () => {
    await using server = await mounted();
    const body = Buffer.concat([Buffer.from('{"data":"'), Buffer.from('d6a7b8b6b3c9b9a6', 'hex'), Buffer.from('"}')]);
    expect(await post(server.url, genuine({}, { body }))).toBe('400 fail malformed');
  });

  test('R007 R008: a character split between two packets arrives whole', async () => {
    await using server = await mounted();
    const request = genuine({ data: { t: '😊', desc: '珊瑚 x 1' } });
    const [head, body] = onTheWire(request);
    const middle = body.indexOf(Buffer.from('😊')) + 2;
    const answer = await rawExchange(server.port, [head, body.subarray(0, middle), body.subarray(middle)], 20);
    expect(answer).toMatch(/^HTTP\/1.1 200/);
    expect(server.bodies).toEqual([body.toString()]);
  });

  test('R049: a request without a body is refused like any other', async () => {
    await using server = await mounted();
    expect(await post(server.url, {})).toBe('401 fail invalid-signature');
  });

  test('R050: the limit is ours, on both of its sides, announced or not', async () => {
    await using server = await mounted({ maxBodyBytes: 102_401 });
    const sized = (sizeBytes: number) => {
      const empty = genuine({ data: { pad: '' } }).body.byteLength;
      return genuine({ data: { pad: 'x'.repeat(sizeBytes - empty) } });
    };
    const fits = sized(102_401);
    expect(fits.body.byteLength).toBe(102_401);
    expect(await post(server.url, fits)).toBe('200 success handled');
    expect(await post(server.url, sized(102_402))).toBe('413 fail too-large');
    const chunked = new Response(sized(102_402).body).body!;
    const init = { headers: sized(102_402).headers, body: chunked, duplex: 'half' } as RequestInit;
    expect(await post(server.url, init)).toBe('413 fail too-large');
  });

  test('a compressed body is refused before it is unpacked', async () => {
    await using server = await mounted();
    const { headers, body } = genuine();
    const init = { headers: { ...headers, 'content-encoding': 'gzip' }, body: gzipSync(body) };
    expect(await post(server.url, init)).toBe('415 fail unsupported-encoding');
    const plain = { headers: { ...headers, 'content-encoding': 'identity' }, body };
    expect(await post(server.url, plain)).toBe('200 success handled');
  });

  test('any method but POST is refused, and says what is allowed', async () => {
    await using server = await mounted();
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const response = await fetch(server.url, { method });
      expect(response.status).toBe(405);
      expect(response.headers.get('allow')).toBe('POST');
    }
  });

  test('the reply is exactly the word, uncacheable, as plain text', async () => {
    await using server = await mounted();
    const [head, body] = onTheWire(genuine());
    const answer = await rawExchange(server.port, [head, body]);
    expect(answer).toContain('\r\ncontent-type: text/plain');
    expect(answer).toContain('\r\ncontent-length: 7\r\n');
    expect(answer).toContain('\r\ncache-control: no-store\r\n');
    expect(answer.endsWith('\r\n\r\nsuccess')).toBe(true);
  });

  test.each(['json()', 'urlencoded()', 'text()'])(
    'R001: a body that %s consumed gets a named error at once',
    async (parser) => {
      const before = {
        'json()': express.json(),
        'urlencoded()': express.urlencoded({ extended: true, type: () => true }),
        'text()': express.text({ type: () => true }),
      }[parser]!;
      await using server = await mounted({}, [before]);
      expect(await post(server.url, genuine())).toBe('500 fail raw-body-missing');
      expect(server.errors).toMatchObject([{ code: 'RECEIVER_RAW_BODY_MISSING', name: 'RawBodyMissingError' }]);
      expect(String(server.errors[0])).toContain('captureRawBody');
    },
  );

  test('bytes that an earlier parser kept are taken: express.raw, and json with captureRawBody', async () => {
    for (const before of [express.raw({ type: () => true }), express.json({ verify: captureRawBody })]) {
      await using server = await mounted({}, [before]);
      expect(await post(server.url, genuine())).toBe('200 success handled');
    }
  });

  test('a json parser that skips the request leaves it to us', async () => {
    await using server = await mounted({}, [express.json()]);
    expect(await post(server.url, genuine({}, { headers: { 'content-type': 'text/plain' } }))).toBe(
      '200 success handled',
    );
  });

  test('a body that stops coming is answered when its time is over', async () => {
    await using server = await mounted({ bodyTimeoutMs: 80 });
    const [head, body] = onTheWire(genuine());
    const answer = await rawExchange(server.port, [head, body.subarray(0, 5)]);
    expect(answer).toMatch(/^HTTP\/1.1 408 [^]*fail$/);
    expect(server.receiver.stats().replies['body-timeout']).toBe(1);
  });

  test('an upload that is broken off runs nothing and leaves the server well', async () => {
    await using server = await mounted();
    const [head, body] = onTheWire(genuine());
    const controller = new AbortController();
    const init = { ...genuine(), body: endless(controller), duplex: 'half', signal: controller.signal } as RequestInit;
    await expect(post(server.url, init)).rejects.toThrow();
    expect(await rawExchange(server.port, [head, body])).toMatch(/^HTTP\/1.1 200/);
    expect(server.bodies).toHaveLength(1);
  });

  test('an endless upload is answered 413 and cut off', async () => {
    await using server = await mounted({ maxBodyBytes: 10_000 });
    const { headers } = genuine();
    const head = onTheWire({ headers, body: Buffer.alloc(0) })[0].replace(
      'content-length: 0',
      'transfer-encoding: chunked',
    );
    const chunk = `1000\r\n${'x'.repeat(0x1000)}\r\n`;
    const answer = await rawExchange(server.port, [head, ...Array.from({ length: 50 }, () => chunk)], 1);
    expect(answer).toMatch(/^HTTP\/1.1 413 [^]*fail$/);
  });

  test('R055: __proto__ in a body stays an ordinary member and changes no prototype', async () => {
    let data: unknown;
    await using server = await mounted({ handler: (notification) => void (data = notification.data) });
    const body = `{"source":"${source}","to":"${to}","type":"a","bizId":"1","data":{"__proto__":{"isPaid":true}},"__proto__":{"type":"b"}}`;
    expect(await post(server.url, genuine({}, { body }))).toBe('200 success handled');
    expect(({} as { isPaid?: boolean }).isPaid).toBeUndefined();
    expect((data as { isPaid?: boolean }).isPaid).toBeUndefined();
  });

  test('R056: nesting that would exhaust the stack is refused', async () => {
    await using server = await mounted();
    const body = `${'{"a":'.repeat(31_000)}1${'}'.repeat(31_000)}`;
    expect(await post(server.url, genuine({}, { body }))).toBe('400 fail malformed');
  });

  test('a genuine notification for another merchant who shares the key, or from another source, is refused', async () => {
    await using server = await mounted();
    for (const event of [
      { source, to: 'merchant-43' },
      { source: 'acme-pay-test', to },
    ]) {
      const request = signedRequest({ secret, event: { ...event, type: 'a', bizId: '1' } });
      expect(await post(server.url, request)).toBe('401 fail wrong-audience');
    }
  });

  test('R040: a signature that cannot be decoded is an ordinary refusal', async () => {
    await using server = await mounted();
    const probe = `PREFIX/SIGNTEST/${Buffer.from('x').toString('base64')}`;
    const { headers, body } = genuine({}, { headers: { 'webhook-signature': probe } });
    expect(await post(server.url, { headers, body })).toBe('401 fail invalid-signature');
    expect(server.receiver.stats().signatures.malformed).toBe(1);
  });

  test('R028 R026: a time in milliseconds, in the past and in the future are refused with their own reason', async () => {
    await using server = await mounted();
    const at = (offsetMs: number) => genuine({}, { at: new Date(Date.now() + offsetMs) });
    expect(await post(server.url, at(-302_000))).toBe('401 fail stale-timestamp');
    expect(await post(server.url, at(302_000))).toBe('401 fail stale-timestamp');
    expect(await post(server.url, at(86_400_000))).toBe('401 fail stale-timestamp');
    expect(await post(server.url, at(-298_000))).toBe('200 success handled');
    const { headers, body } = genuine();
    const milliseconds = { ...headers, 'webhook-timestamp': `${headers['webhook-timestamp']}000` };
    expect(await post(server.url, { headers: milliseconds, body })).toBe('401 fail stale-timestamp');
  });

  test('R016 R088: nothing the app adds afterwards reaches the reply, and no middleware after it runs', async () => {
    const receiver = receiverFor({ handler: () => undefined });
    const app = express();
    let isPassed = false;
    app.post('/notify', receiver.express(), () => (isPassed = true));
    await using server = await listening(app);
    expect(await post(server.url, genuine())).toBe('200 success handled');
    expect(isPassed).toBe(false);
  });
});

function endless(controller: AbortController): ReadableStream {
  return new ReadableStream({
    start(stream) {
      stream.enqueue(new Uint8Array(10));
      setTimeout(() => controller.abort(), 30);
    },
  });
}

test('the line an operator reads for a refused request holds no secret, no signature and nothing of the body', async () => {
  const told: unknown[] = [];
  const receiver = receiverFor({
    handler: () => {
      throw new Error('handler');
    },
    onInvalid: (facts) => told.push(facts.message, String(facts.error), facts.error?.stack),
    onError: (facts) => told.push(String(facts.error)),
    onConflict: (facts) => told.push(JSON.stringify(facts)),
  });
  const marker = 'MARKER-IN-THE-BODY';
  const good = genuine({ data: { marker } });
  const bad = {
    ...good,
    headers: { ...good.headers, 'webhook-signature': `v1,${Buffer.alloc(32, 9).toString('base64')}` },
  };
  const notEnvelope = genuine({}, { body: `{"marker":"${marker}"}` });
  const replies = [];
  for (const request of [good, bad, notEnvelope, genuine({ data: { marker, other: 1 } })])
    replies.push(line(await receiver.handle(request)));
  expect(replies).toEqual([
    '500 fail handler-error',
    '401 fail invalid-signature',
    '400 fail malformed',
    '422 fail payload-conflict',
  ]);
  const text = told.join('\n');
  for (const private_ of [
    secret,
    secret.slice(6),
    marker,
    good.headers['webhook-signature']!,
    bad.headers['webhook-signature'],
  ]) {
    expect(text).not.toContain(private_);
  }
});
