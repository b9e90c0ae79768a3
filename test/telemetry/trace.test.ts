import { createReceiver, redisStore } from '@bestnotify/receiver';
import { idempotent, reply, verifySignature } from '@bestnotify/receiver/express';
import { context, propagation, SpanKind, trace, type Context } from '@opentelemetry/api';
import { AlwaysOffSampler, type ReadableSpan } from '@opentelemetry/sdk-trace-node';
import express, { type Express } from 'express';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { drizzle } from 'drizzle-orm/postgres-js';
import postgres from 'postgres';
import { expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshRedis } from '../fixtures/redis.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, source } from '../sender/fresh-outbox.ts';
import { recordSpans } from './spans.ts';

const open = () => databases[0]?.open() ?? expect.fail();
const host = () => trace.getTracer('the host'); // a tracer is bound to the provider of its time

async function listen(app: Express) {
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/notify`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

/** A merchant on Express and Redis; `mount` puts the receiver on its route. */
async function openMerchant(
  secret: string,
  mount: (app: Express, receiver: ReturnType<typeof createReceiver>) => void,
  handler: () => void = () => undefined,
) {
  const redis = await freshRedis();
  const store = redisStore(redis.client, { prefix: `${redis.prefix}bestnotify`, onWarning: () => undefined });
  const receiver = createReceiver({ source, to: 'merchant-42', secrets: secret, store, handler });
  const app = express();
  mount(app, receiver);
  const server = await listen(app);
  return {
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await redis[Symbol.asyncDispose]();
    },
  };
}

const parentIdOf = (span: ReadableSpan) => span.parentSpanContext?.spanId;
const idOf = (span: ReadableSpan) => span.spanContext().spanId;

test('from the business request over enqueueing and each attempt to the handler of the merchant it is one trace', async () => {
  using spans = recordSpans();
  await using outbox = await freshOutbox(open);
  const { sender } = outbox;
  const secret = await outbox.putEndpoint({ id: 'merchant-42' });
  let runs = 0;
  const seenInside: (string | undefined)[] = [];
  await using merchant = await openMerchant(
    secret,
    (app, receiver) => app.post('/notify', receiver.express()),
    () => {
      seenInside.push(trace.getActiveSpan()?.spanContext().spanId);
      host().startSpan('credit the account').end();
      if ((runs += 1) === 1) throw new RangeError('card VISA-4111 of the payment');
    },
  );
  await sender.endpoints.put({
    ...{ id: 'merchant-42', url: merchant.url, policy: 'article', allowHttp: true, allowPrivateNetwork: true },
    traceparent: true,
  });
  const client = postgres(requiredEnv('DATABASE_URL'), { max: 1 });

  await host().startActiveSpan('POST /pay', async (request) => {
    await drizzle(client).transaction((tx) => sender.notify({ endpoint: 'merchant-42', ...paid }, { tx }));
    request.end();
  });
  await client.end();
  expect(await sender.runOnce()).toMatchObject({ retrying: 1 });
  await outbox.age({ byMs: 11_000 });
  expect(await sender.runOnce()).toMatchObject({ delivered: 1 });

  const request = spans.one('POST /pay');
  const enqueued = spans.one('enqueue payment.success');
  const attempts = spans.all().filter(({ name }) => name === 'deliver payment.success');
  const handled = spans.all().filter(({ name }) => name === 'process payment.success');
  const effects = spans.all().filter(({ name }) => name === 'credit the account');
  const all = [request, enqueued, ...attempts, ...handled, ...effects];
  expect(all.map(({ name, kind }) => [name, kind])).toEqual([
    ['POST /pay', SpanKind.INTERNAL],
    ['enqueue payment.success', SpanKind.PRODUCER],
    ['deliver payment.success', SpanKind.CLIENT],
    ['deliver payment.success', SpanKind.CLIENT],
    ['process payment.success', SpanKind.CONSUMER],
    ['process payment.success', SpanKind.CONSUMER],
    ['credit the account', SpanKind.INTERNAL],
    ['credit the account', SpanKind.INTERNAL],
  ]);
  expect(new Set(all.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(parentIdOf(enqueued)).toBe(idOf(request));
  expect(attempts.map(parentIdOf)).toEqual([idOf(enqueued), idOf(enqueued)]);
  expect(handled.map(parentIdOf)).toEqual(attempts.map(idOf));
  expect(effects.map(parentIdOf)).toEqual(handled.map(idOf));
  expect(seenInside).toEqual(handled.map(idOf));
  expect(
    attempts.map(({ attributes, status }) => [
      attributes['bestnotify.outcome'],
      attributes['http.response.status_code'],
      status.code,
    ]),
  ).toEqual([
    ['refused', 500, 2],
    ['acknowledged', 200, 0],
  ]);
  expect(handled.map(({ attributes, status }) => [attributes['error.type'], status.code])).toEqual([
    ['RangeError', 2],
    [undefined, 0],
  ]);
  const told = JSON.stringify(
    spans.all().map(({ attributes, events, status, name }) => ({ attributes, events, status, name })),
  );
  expect(told).not.toMatch(/VISA-4111|100\.00|whsec_/);
});

/** What instrumentation of an HTTP server does: a span that takes the trace up from the header. */
function serverSpans(app: Express, parentOf: (headers: Record<string, unknown>) => Context): void {
  app.use((req, res, next) => {
    const parent = parentOf(req.headers);
    const span = host().startSpan('POST /notify', { kind: SpanKind.SERVER }, parent);
    res.once('finish', () => span.end());
    context.with(trace.setSpan(parent, span), next);
  });
}

test.each([
  [
    'as one handler',
    (app: Express, receiver: ReturnType<typeof createReceiver>) => app.post('/notify', receiver.express()),
  ],
  [
    'in pieces',
    (app: Express, receiver: ReturnType<typeof createReceiver>) =>
      app.post(
        '/notify',
        verifySignature(receiver),
        idempotent(receiver),
        (_req: unknown, _res: unknown, next: () => void) => next(),
        reply(receiver),
      ),
  ],
])('behind an instrumented server the handler is a child of the span of the server, %s', async (_how, mount) => {
  using spans = recordSpans();
  await using outbox = await freshOutbox(open);
  const secret = await outbox.putEndpoint({ id: 'merchant-42' });
  await using merchant = await openMerchant(secret, (app, receiver) => {
    serverSpans(app, (headers) => propagation.extract(context.active(), headers));
    mount(app, receiver);
  });
  await outbox.sender.endpoints.put({
    id: 'merchant-42',
    url: merchant.url,
    allowHttp: true,
    allowPrivateNetwork: true,
    traceparent: true,
  });
  await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  expect(await outbox.sender.runOnce()).toMatchObject({ delivered: 1 });

  const attempt = spans.one('deliver payment.success');
  const server = spans.one('POST /notify');
  const handled = spans.one('process payment.success');
  expect([parentIdOf(server), parentIdOf(handled)]).toEqual([idOf(attempt), idOf(server)]);
  expect(handled.spanContext().traceId).toBe(attempt.spanContext().traceId);
});

test('behind a server whose span is of another trace the handler stays in that of the payment, and links the other', async () => {
  using spans = recordSpans();
  await using outbox = await freshOutbox(open);
  const secret = await outbox.putEndpoint({ id: 'merchant-42' });
  await using merchant = await openMerchant(secret, (app, receiver) => {
    serverSpans(app, () => context.active());
    app.post('/notify', receiver.express());
  });
  await outbox.sender.endpoints.put({
    id: 'merchant-42',
    url: merchant.url,
    allowHttp: true,
    allowPrivateNetwork: true,
    traceparent: true,
  });
  await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  await outbox.sender.runOnce();

  const handled = spans.one('process payment.success');
  expect(parentIdOf(handled)).toBe(idOf(spans.one('deliver payment.success')));
  expect(handled.links.map((link) => link.context.spanId)).toEqual([idOf(spans.one('POST /notify'))]);
});

test('a batch has a span for each notification, and a failed one says so', async () => {
  using spans = recordSpans();
  await using outbox = await freshOutbox(open);
  await outbox.putEndpoint({ id: 'merchant-42' });
  const event = { endpoint: 'merchant-42', ...paid };
  const [first] = await outbox.sender.notifyMany([event, { ...event, bizId: 'PAY2' }, event]);
  await expect(outbox.sender.notify({ ...event, endpoint: 'nobody' })).rejects.toThrow();

  const created = spans
    .all()
    .map(({ attributes, status }) => [
      attributes['bestnotify.biz_id'],
      attributes['bestnotify.created'],
      status.code,
      attributes['error.type'],
    ]);
  expect(created).toEqual([
    ['PAY1', true, 0, undefined],
    ['PAY2', true, 0, undefined],
    ['PAY1', false, 0, undefined],
    ['PAY1', undefined, 2, 'UnknownEndpointError'],
  ]);
  const [row] = await outbox.query<{ traceparent: string }>('select traceparent from notification where biz_id = $1', [
    'PAY1',
  ]);
  const span = spans.all()[0] ?? expect.fail();
  expect(row?.traceparent).toBe(`00-${span.spanContext().traceId}-${idOf(span)}-01`);
  expect(span.attributes['messaging.message.id']).toBe(first?.id);
});

test('what is not sampled stays unsampled on its way to the merchant', async () => {
  using spans = recordSpans({ sampler: new AlwaysOffSampler() });
  await using outbox = await freshOutbox(open);
  await using merchant = await scriptedEndpoint(200);
  await outbox.putEndpoint({ id: 'merchant-42', url: merchant.url, traceparent: true });
  await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  await outbox.sender.runOnce();
  const [row] = await outbox.query<{ traceparent: string }>('select traceparent from notification');
  expect(row?.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  expect(merchant.requests[0]?.headers['traceparent']).toMatch(
    new RegExp(`^${row?.traceparent.slice(0, 36)}[0-9a-f]{16}-00$`),
  );
  expect(spans.all()).toEqual([]);
});

const sent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test.each([
  [sent, sent],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nx-evil: 1', undefined],
  ['garbage', undefined],
  ['', undefined],
])('a platform in another language gives its trace to the transaction that enqueues: %j', async (given, expected) => {
  await using outbox = await freshOutbox(open);
  await using merchant = await scriptedEndpoint(200);
  await outbox.putEndpoint({ id: 'merchant-42', url: merchant.url, traceparent: true });
  const enqueue = `select e.id from set_config('bestnotify.traceparent', $1, true),
    lateral enqueue(source => 'acme-pay', endpoint => 'merchant-42', type => 'a', biz_id => 'B', data => '1') e`;
  await outbox.query(enqueue, [given]);
  await outbox.sender.runOnce();
  expect(merchant.requests[0]?.headers['traceparent']).toBe(expected);
  expect(await outbox.query('select traceparent from notification')).toEqual([{ traceparent: expected ?? null }]);
});

test('an endpoint that has not asked gets no traceparent, whatever is stored', async () => {
  using spans = recordSpans();
  await using outbox = await freshOutbox(open);
  await using merchant = await scriptedEndpoint(200);
  await outbox.putEndpoint({ id: 'merchant-42', url: merchant.url });
  await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  await outbox.sender.runOnce();
  expect(merchant.requests[0]?.headers).not.toHaveProperty('traceparent');
  expect(spans.one('deliver payment.success').attributes['url.full']).toBe(merchant.url);
  expect((await outbox.sender.endpoints.get('merchant-42'))?.traceparent).toBe(false);
});
