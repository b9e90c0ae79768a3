// One HTTP server of the receiver benchmark, in a process of its own. Prints its port, answers every notification `success`.
import { createServer } from 'node:http';
import { createReceiver, redisStore } from '@bestnotify/receiver';
import { nodeHttpHandler } from '@bestnotify/receiver/node-http';
import express from 'express';
import { Redis } from 'ioredis';

const [, , kind, source, to, secret, redisUrl, prefix] = process.argv;
let handled = 0;

function ourReceiver() {
  const store = redisStore(new Redis(redisUrl), { prefix });
  const receiver = createReceiver({ source, to, secrets: secret, store });
  return receiver.on('payment.success', () => void (handled += 1));
}

function onExpress(...route) {
  const app = express();
  app.post('/notify', ...route);
  return createServer(app);
}

/** What is written by hand today: the raw body, a library for the signature, a library for idempotency with its Redis adapter. */
async function peer() {
  const { Webhook } = await import('standardwebhooks');
  const { Idempotency } = await import('@node-idempotency/core');
  const { RedisStorageAdapter } = await import('@node-idempotency/storage-adapter-redis');
  const webhook = new Webhook(secret);
  const storage = new RedisStorageAdapter({ url: redisUrl });
  await storage.connect();
  const week = 7 * 24 * 60 * 60 * 1000;
  const idempotency = new Idempotency(storage, {
    idempotencyKey: 'webhook-id',
    cacheTTLMS: week,
    cacheKeyPrefix: prefix,
  });
  return onExpress(express.raw({ type: () => true, limit: '1mb' }), async (req, res) => {
    try {
      const body = webhook.verify(req.body, req.headers);
      const request = { headers: req.headers, path: req.path, method: req.method, body };
      const known = await idempotency.onRequest(request);
      if (known === undefined) {
        handled += 1;
        await idempotency.onResponse(request, { body: 'success' });
      }
      res.type('text/plain').send('success');
    } catch {
      res.status(500).type('text/plain').send('fail');
    }
  });
}

const servers = {
  'bare express.json()': () =>
    onExpress(express.json({ limit: '1mb' }), (req, res) => {
      handled += req.body.type === 'payment.success' ? 1 : 0;
      res.type('text/plain').send('success');
    }),
  'receiver on Express': () => onExpress(ourReceiver().express()),
  'standardwebhooks + node-idempotency': peer,
  'bare node:http': () =>
    createServer((req, res) => {
      const chunks = [];
      req.on('data', (chunk) => chunks.push(chunk));
      req.on('end', () => {
        handled += chunks.length > 0 ? 1 : 0;
        res.writeHead(200, { 'content-type': 'text/plain', 'content-length': 7 }).end('success');
      });
    }),
  'receiver on node:http': () => createServer(nodeHttpHandler(ourReceiver())),
};

const server = await servers[kind]();
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send({ handled, rssBytes: process.memoryUsage().rss, cpuUs: user + system });
});
process.on('disconnect', () => process.exit(0));
