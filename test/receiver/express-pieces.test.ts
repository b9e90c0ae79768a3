import { memoryStore, RetryLater } from '@bestnotify/receiver';
import { idempotent, reply, verifySignature, type NotificationRequest } from '@bestnotify/receiver/express';
import express5, { type RequestHandler } from 'express';
import express4 from 'express4';
import { describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { genuine, listening, post, receiverFor } from './merchant.ts';

describe.each([
  { name: 'Express 5', express: express5 },
  { name: 'Express 4', express: express4 },
])('a route put together from pieces, on $name', ({ express }) => {
  const route = async (handler: RequestHandler, options: Parameters<typeof receiverFor>[0] = {}) => {
    const receiver = receiverFor(options);
    const app = express();
    app.post('/notify', verifySignature(receiver), idempotent(receiver), handler, reply(receiver));
    const server = await listening(app);
    return { ...server, receiver };
  };

  test('the handler sees the notification and calls next; a copy does not reach it', async () => {
    const seen: unknown[] = [];
    await using server = await route((req, _res, next) => {
      const { notification, notificationContext } = req as unknown as NotificationRequest;
      seen.push([notification?.bizId, notificationContext?.attempt]);
      next();
    });
    expect(await post(server.url, genuine())).toBe('200 success handled');
    expect(await post(server.url, genuine())).toBe('200 success duplicate');
    expect(await post(server.url, genuine({ data: 2 }))).toBe('422 fail payload-conflict');
    expect(await post(server.url, { body: 'x' })).toBe('401 fail invalid-signature');
    expect(seen).toEqual([['PAY1', 1]]);
  });

  test('an error of the route is fail, and the next delivery runs again', async () => {
    let runs = 0;
    await using server = await route((_req, _res, next) => next((runs += 1) === 1 ? new Error('no') : undefined));
    expect(await post(server.url, genuine())).toBe('500 fail handler-error');
    expect(await post(server.url, genuine())).toBe('200 success handled');
    expect(server.receiver.stats().replies['handler-error']).toBe(1);
  });

  test('RetryLater passed to next is answered as such', async () => {
    await using server = await route((_req, _res, next) => next(new RetryLater({ afterMs: 5_000 })));
    const response = await fetch(server.url, genuine());
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('5');
  });

  test('a route that answers by itself gives its claim back', async () => {
    let runs = 0;
    await using server = await route((_req, res, next) => ((runs += 1) === 1 ? res.send('my own page') : next()));
    expect(await (await fetch(server.url, genuine())).text()).toBe('my own page');
    await server.receiver.drain();
    expect(await post(server.url, genuine())).toBe('200 success handled');
  });

  test('a route that never goes on is answered at the deadline', async () => {
    await using server = await route(() => undefined, { handlerTimeoutMs: 40 });
    expect(await post(server.url, genuine())).toBe('500 fail handler-error');
  });

  test.each([
    { when: 'was answered at the deadline', hangsUp: false },
    { when: 'has a sender that hung up', hangsUp: true },
  ])('a route that $when keeps copies out until it is over', async ({ hangsUp }) => {
    let runs = 0;
    let goOn: () => void = () => undefined;
    let hasBegun: () => void = () => undefined;
    let hasClosed: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (hasBegun = resolve));
    const closed = new Promise<void>((resolve) => (hasClosed = resolve));
    await using server = await route(
      (_req, res, next) => {
        runs += 1;
        goOn = next;
        hasBegun();
        res.once('close', () => hasClosed());
      },
      { handlerTimeoutMs: hangsUp ? 5_000 : 40 },
    );
    const hangUp = new AbortController();
    const first = fetch(server.url, { ...genuine(), signal: hangUp.signal }).catch(() => undefined);
    await begun;
    if (hangsUp) hangUp.abort();
    await first;
    await closed;

    expect(await post(server.url, genuine())).toBe('409 fail in-progress');
    goOn();
    await server.receiver.drain();
    await awaitUntil('it is recorded', async () => (await post(server.url, genuine())) === '200 success duplicate');
    expect(runs).toBe(1);
  });

  test('idempotent without verifySignature before it is an error of the app', async () => {
    const receiver = receiverFor({ store: memoryStore() });
    const app = express();
    app.post('/notify', idempotent(receiver), reply(receiver));
    await using server = await listening(app);
    expect(await post(server.url, genuine())).toBe('500 fail handler-error');
  });

  test('verifySignature with reply alone checks and answers, for a route that has its own idempotency', async () => {
    const receiver = receiverFor();
    const app = express();
    app.post('/notify', verifySignature(receiver), reply(receiver));
    await using server = await listening(app);
    expect(await post(server.url, genuine())).toBe('200 success handled');
    expect(await post(server.url, { body: 'x' })).toBe('401 fail invalid-signature');
  });
});
