import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { serve } from '@hono/node-server';
import { captureRawBody, type Receiver } from '@bestnotify/receiver';
import { lambdaHandler, type LambdaHttpEvent } from '@bestnotify/receiver/aws-lambda';
import { expressHandler } from '@bestnotify/receiver/express';
import { fastifyPlugin } from '@bestnotify/receiver/fastify';
import { fetchHandler } from '@bestnotify/receiver/fetch';
import { honoHandler } from '@bestnotify/receiver/hono';
import { koaMiddleware } from '@bestnotify/receiver/koa';
import { nodeHttpHandler } from '@bestnotify/receiver/node-http';
import express5 from 'express';
import express4 from 'express4';
import { fastify } from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { describe, expect, test } from 'vitest';
import { genuine, line, listening, post, receiverFor, source, to, type Listening } from '../receiver/merchant.ts';

interface Framework {
  name: string;
  mount: (receiver: Receiver) => Promise<Listening>;
}

const frameworks: Framework[] = [
  { name: 'Express 5', mount: (receiver) => listening(express5().all('/notify', expressHandler(receiver))) },
  { name: 'Express 4', mount: (receiver) => listening(express4().all('/notify', expressHandler(receiver))) },
  { name: 'node:http', mount: (receiver) => listening(nodeHttpHandler(receiver)) },
  { name: 'Fastify', mount: onFastify },
  { name: 'Koa', mount: onKoa },
  { name: 'Hono', mount: onHono },
  { name: 'fetch', mount: onFetch },
  { name: 'AWS Lambda (REST API)', mount: (receiver) => onLambda(receiver, restEvent) },
  { name: 'AWS Lambda (HTTP API, base64)', mount: (receiver) => onLambda(receiver, httpEvent) },
];

async function onFastify(receiver: Receiver): Promise<Listening> {
  const app = fastify();
  app.post('/other', (request) => ({ parsed: request.body }));
  await app.register(fastifyPlugin(receiver, { url: '/notify' }));
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  return { port, url: `http://127.0.0.1:${port}/notify`, [Symbol.asyncDispose]: () => app.close() };
}

function onKoa(receiver: Receiver): Promise<Listening> {
  const app = new Koa();
  app.use(async (context, next) => {
    await next();
    context.set('x-app', 'too late to matter');
  });
  app.use(koaMiddleware(receiver));
  const listener = app.callback();
  return listening((req, res) => void listener(req, res));
}

async function onHono(receiver: Receiver): Promise<Listening> {
  const app = new Hono();
  app.all('/notify', honoHandler(receiver));
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  if (!server.listening) await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  return { port, url: `http://127.0.0.1:${port}/notify`, [Symbol.asyncDispose]: close };
}

/** Requests and responses of the platform itself, with node:http only as the way in. */
function onFetch(receiver: Receiver): Promise<Listening> {
  const handle = fetchHandler(receiver);
  return bridged(async ({ method, headers, body }) => {
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const response = await handle(
      new Request('http://x/notify', { method, headers, ...(hasBody ? { body: new Uint8Array(body) } : {}) }),
    );
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: Buffer.from(await response.arrayBuffer()),
    };
  });
}

type Bridge = (request: { method: string; headers: Record<string, string>; body: Buffer }) => Promise<{
  status: number;
  headers: Record<string, string>;
  body: Buffer | string;
}>;

function bridged(bridge: Bridge): Promise<Listening> {
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const headers = Object.fromEntries(Object.entries(req.headers).map(([name, value]) => [name, String(value)]));
    const reply = await bridge({ method: req.method ?? '', headers, body: Buffer.concat(chunks) });
    res.writeHead(reply.status, reply.headers).end(reply.body);
  };
  return listening((req, res) => void answer(req, res));
}

function onLambda(
  receiver: Receiver,
  toEvent: (request: Parameters<Bridge>[0]) => LambdaHttpEvent,
): Promise<Listening> {
  const handle = lambdaHandler(receiver);
  return bridged(async (request) => {
    const result = await handle(toEvent(request));
    return { status: result.statusCode, headers: result.headers, body: result.body };
  });
}

function restEvent({ method, headers, body }: Parameters<Bridge>[0]): LambdaHttpEvent {
  const names = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  return {
    httpMethod: method,
    headers: names,
    multiValueHeaders: null,
    body: body.toString('utf8'),
    isBase64Encoded: false,
  };
}

function httpEvent({ method, headers, body }: Parameters<Bridge>[0]): LambdaHttpEvent {
  return { requestContext: { http: { method } }, headers, body: body.toString('base64'), isBase64Encoded: true };
}

describe.each(frameworks)('the receiver on $name', ({ name, mount }) => {
  test('verifies bytes that a parser would change, and hands them over as they came', async () => {
    let rawBody = '';
    const receiver = receiverFor({ handler: (_notification, context) => void (rawBody = context.rawBody.toString()) });
    await using server = await mount(receiver);
    const text = ` { "source":"${source}","to":"${to}","type":"a","bizId":"1","data":{"a":1.0,"10":1,"2":2,"t":"支付 😊 \\u001B"}}\r\n`;
    expect(await post(server.url, genuine({}, { body: text }))).toBe('200 success handled');
    expect(rawBody).toBe(text);
  });

  test('does not depend on the content type, and keeps a byte order mark to be refused', async () => {
    const receiver = receiverFor({ handler: () => undefined });
    await using server = await mount(receiver);
    for (const contentType of ['application/x-www-form-urlencoded', 'text/xml', 'application/json']) {
      const request = genuine({ bizId: contentType }, { headers: { 'content-type': contentType } });
      expect(await post(server.url, request)).toBe('200 success handled');
    }
    const marked = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), genuine().body]);
    expect(await post(server.url, genuine({}, { body: marked }))).toBe('400 fail malformed');
  });

  test('writes the word alone, with every header of the table', async () => {
    await using server = await mount(receiverFor({ handler: () => undefined }));
    const response = await fetch(server.url, genuine());
    expect(await response.text()).toBe('success');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('bestnotify-reason')).toBe('handled');
  });

  test('answers refusals, a broken handler and other methods itself', async () => {
    const receiver = receiverFor({
      handler: () => {
        throw new Error('boom');
      },
    });
    await using server = await mount(receiver);
    expect(await post(server.url, genuine())).toBe('500 fail handler-error');
    expect(await post(server.url, { body: '{}' })).toBe('401 fail invalid-signature');
    const { status } = await fetch(server.url, { method: 'PUT', body: 'x' });
    expect(status).toBe(405);
    if (name.startsWith('AWS')) return; // the gateway in front of a function has its own limit
    const large = genuine({ data: { pad: 'x'.repeat(1024 * 1024) } });
    expect(await post(server.url, large)).toBe('413 fail too-large');
  });
});

describe('beside the receiver', () => {
  test('a Fastify app keeps its own parsers for its other routes', async () => {
    await using server = await onFastify(receiverFor({ handler: () => undefined }));
    const url = server.url.replace('/notify', '/other');
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"a":1}',
    });
    expect(await response.json()).toEqual({ parsed: { a: 1 } });
  });

  test('a fetch request whose body was read already gets the named answer', async () => {
    const request = new Request('http://x/', genuine());
    await request.text();
    const response = await fetchHandler(receiverFor({ handler: () => undefined }))(request);
    expect(response.headers.get('bestnotify-reason')).toBe('raw-body-missing');
  });

  test('a Lambda event whose body was parsed on the way gets the named answer', async () => {
    const { headers, body } = genuine();
    const event = { httpMethod: 'POST', headers, body: JSON.parse(body.toString()) as string };
    const result = await lambdaHandler(receiverFor({ handler: () => undefined }))(event);
    expect(result.headers['bestnotify-reason']).toBe('raw-body-missing');
  });

  test('a fetch body that never ends is answered when its time is over', async () => {
    const receiver = receiverFor({ handler: () => undefined, bodyTimeoutMs: 30 });
    const body = new ReadableStream({ pull: () => new Promise(() => undefined) });
    const init = { method: 'POST', headers: genuine().headers, body, duplex: 'half' } as RequestInit;
    const response = await fetchHandler(receiver)(new Request('http://x/', init));
    expect(response.status).toBe(408);
  });

  test('a platform that keeps rawBody on the request is understood', async () => {
    const receiver = receiverFor({ handler: () => undefined });
    const keepThenHandle = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk as Buffer);
      captureRawBody(req, res, Buffer.concat(chunks));
      nodeHttpHandler(receiver)(req, res);
    };
    await using server = await listening((req, res) => void keepThenHandle(req, res));
    expect(await post(server.url, genuine())).toBe('200 success handled');
  });

  test('handle takes text, bytes and views alike, and header names in any case', async () => {
    const receiver = receiverFor({ handler: () => undefined });
    const { headers, body } = genuine();
    const padded = new Uint8Array(body.byteLength + 20);
    padded.set(body, 7);
    const forms = [
      body,
      body.toString(),
      new Uint8Array(body),
      padded.subarray(7, 7 + body.byteLength),
      new Uint8Array(body).buffer,
    ];
    for (const form of forms)
      expect(line(await receiver.handle({ method: 'post', headers, body: form }))).toMatch(/^200/);
    const shouting = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key.toUpperCase(), [value]]));
    expect(line(await receiver.handle({ method: 'POST', headers: shouting, body }))).toBe('200 success duplicate');
    expect(line(await receiver.handle({ method: 'POST', headers: new Headers(headers), body }))).toBe(
      '200 success duplicate',
    );
    const parsed = JSON.parse(body.toString()) as never;
    expect(line(await receiver.handle({ method: 'POST', headers, body: parsed }))).toBe('500 fail raw-body-missing');
  });
});
