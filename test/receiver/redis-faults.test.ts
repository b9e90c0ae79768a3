import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { redisStore, type RedisClient, type Store } from '@bestnotify/receiver';
import { Redis } from 'ioredis';
import { Redis as Redis6 } from 'ioredis6';
import { describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { ownRedis, ownRedisCluster } from '../contract/own-redis.ts';
import { again, requestFor } from '../contract/stores.ts';
import { gate, line, receiverFor, senderTo } from './merchant.ts';

const event = { type: 'payment.success', bizId: 'PAY1' };

describe('whatever Redis answers, success is said only of work that was done', () => {
  test('R083: out of memory under noeviction refuses new claims with 503 and runs nothing', async () => {
    await using server = await ownRedis(['--maxmemory', '1', '--maxmemory-policy', 'noeviction']);
    let runs = 0;
    const receiver = receiverFor({ store: redisStore(server.connect()), handler: () => void (runs += 1) });
    const reply = await senderTo(receiver).once(event);
    expect(line(reply)).toBe('503 fail store-unavailable');
    expect(Number(reply?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(runs).toBe(0);
  });

  test('R080: a demoted primary refuses writes: 503, nothing runs, and it works again when it is primary again', async () => {
    await using server = await ownRedis();
    const admin = server.connect();
    let runs = 0;
    const receiver = receiverFor({ store: redisStore(server.connect()), handler: () => void (runs += 1) });
    await admin.replicaof('127.0.0.1', 1);
    expect(line(await senderTo(receiver).once(event))).toBe('503 fail store-unavailable');
    expect(runs).toBe(0);
    await admin.replicaof('NO', 'ONE');
    expect(line(await senderTo(receiver).once(event))).toBe('200 success handled');
  });

  test.each([
    'LOADING Redis is loading the dataset in memory',
    'MASTERDOWN Link with MASTER is down',
    'BUSY Redis is busy running a script',
  ])('R082: -%s is 503 and runs nothing', async (message) => {
    await using server = await scriptedRedis(() => `-${message}\r\n`);
    let runs = 0;
    const receiver = receiverFor({ store: redisStore(server.client), handler: () => void (runs += 1) });
    expect(line(await senderTo(receiver).once(event))).toBe('503 fail store-unavailable');
    expect(runs).toBe(0);
  });

  test('a script cache that is flushed under way costs no request, on one node and on three', async () => {
    await using server = await ownRedis();
    await using cluster = await ownRedisCluster();
    const flushed: [RedisClient, Redis[]][] = [
      [server.connect(), [server.connect()]],
      [cluster.client, cluster.client.nodes('master')],
    ];
    for (const [client, nodes] of flushed) {
      const sender = senderTo(receiverFor({ store: redisStore(client), handler: () => undefined }));
      for (let i = 0; i < 20; i += 1) {
        await Promise.all(nodes.map((node) => node.script('FLUSH')));
        const replies = await Promise.all([1, 2, 3].map((n) => sender.once({ ...event, bizId: `P${i}-${n}` })));
        expect(replies.map(line)).toEqual(Array.from({ length: 3 }, () => '200 success handled'));
      }
    }
  });

  test('R079: every key has an expiry, in every state', async () => {
    await using server = await ownRedis();
    const client = server.connect();
    const store = redisStore(client, { prefix: 'p' });
    const order = { subject: 'O', sequence: 1 };
    const [running, done, free, guarded] = [requestFor(), requestFor(), requestFor(), requestFor({ order })];
    for (const request of [running, done, free, guarded]) await store.acquire(request);
    await store.complete(done);
    await store.release(free);
    await store.complete(guarded);
    const keys = await client.keys('p:*');
    expect(keys).toHaveLength(5);
    for (const key of keys) {
      const ttlMs = await client.pttl(key);
      expect(ttlMs).toBeGreaterThan(running.retentionMs - 60_000);
      expect(ttlMs).toBeLessThanOrEqual(running.retentionMs);
    }
  });

  test('R065: a record lives as long as it was told to, and then the event is new again', async () => {
    await using server = await ownRedis();
    const client = server.connect();
    const store = redisStore(client);
    const request = requestFor({ retentionMs: 5_000 });
    await store.acquire(request);
    await store.complete(request);
    expect(await store.acquire(again(request))).toEqual({ verdict: 'duplicate' });
    const [key = ''] = await client.keys('bestnotify:*');
    await client.pexpire(key, 1);
    await awaitUntil('the key is gone', async () => (await client.exists(key)) === 0);
    expect(await store.acquire(again(request))).toMatchObject({ verdict: 'acquired', attempt: 1 });
  });

  test('a foreign value under one key fails that notification alone', async () => {
    await using server = await ownRedis();
    const client = server.connect();
    const store = redisStore(client);
    const [poisoned, fine] = [requestFor({ bizId: 'poisoned' }), requestFor()];
    await client.set('bestnotify:{acme-pay:merchant-42:poisoned}:payment.success', 'something else');
    const answers = await Promise.allSettled([store.acquire(poisoned), store.acquire(fine)]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  test('a claim whose answer was lost on the way is answered 503, and given back so that the repeat runs', async () => {
    await using server = await ownRedis();
    const client = server.connect();
    const store = redisStore(client);
    let isLost = true;
    const lossy: Store = {
      ...plain(store),
      async acquire(request) {
        const answer = await store.acquire(request);
        if (!isLost) return answer;
        isLost = false;
        throw new Error('Connection is closed.');
      },
    };
    let runs = 0;
    const sender = senderTo(receiverFor({ store: lossy, handler: () => void (runs += 1) }));
    expect(line(await sender.once(event))).toBe('503 fail store-unavailable');
    expect(runs).toBe(0);
    await awaitUntil('the claim is free', async () => line(await sender.once(event)).startsWith('200'));
    expect(runs).toBe(1);
  });

  test.each(['its answer', 'the claim itself'])(
    'a store that does not answer in time is answered 503, and when %s comes late it is given back',
    async (what) => {
      const late = gate();
      await using server = await ownRedis();
      const store = redisStore(server.connect());
      const slow: Store = {
        ...plain(store),
        async acquire(request) {
          if (what === 'the claim itself') await late.promise;
          const answer = await store.acquire(request);
          await late.promise;
          return answer;
        },
      };
      let runs = 0;
      const sender = senderTo(receiverFor({ store: slow, storeTimeoutMs: 50, handler: () => void (runs += 1) }));
      expect(line(await sender.once(event))).toBe('503 fail store-unavailable');
      late.open();
      await awaitUntil('the claim is free', async () => line(await sender.once(event)).startsWith('200'));
      expect(runs).toBe(1);
    },
  );

  test('a finished handler is answered success though its record cannot be written, and the record follows', async () => {
    await using server = await ownRedis();
    const store = redisStore(server.connect());
    let failures = 3;
    const flaky: Store = {
      ...plain(store),
      complete: (request) => ((failures -= 1) >= 0 ? Promise.reject(new Error('away')) : store.complete(request)),
    };
    const receiver = receiverFor({ store: flaky, handler: () => undefined });
    const sender = senderTo(receiver);
    expect(line(await sender.once(event))).toBe('200 success handled');
    await receiver.drain();
    expect(line(await sender.once(event))).toBe('200 success duplicate');
    expect(receiver.stats().recordsLost).toBe(0);
  });

  test('a record that cannot be written before its lease is over is counted and warned about', async () => {
    await using server = await ownRedis();
    const store = redisStore(server.connect());
    const codes: string[] = [];
    const broken: Store = { ...plain(store), complete: () => Promise.reject(new Error('away')) };
    const receiver = receiverFor({
      store: broken,
      leaseMs: 200,
      heartbeatMs: 50,
      handler: () => undefined,
      onWarning: ({ code }) => codes.push(code),
    });
    expect(line(await senderTo(receiver).once(event))).toBe('200 success handled');
    await receiver.drain();
    expect(receiver.stats().recordsLost).toBe(1);
    expect(codes).toEqual(['RECEIVER_RECORD_LOST']);
  });
});

describe('what Redis has to be', () => {
  test('a policy that may evict is warned about once, noeviction is not', async () => {
    for (const [policy, expected] of [
      ['allkeys-lru', 1],
      ['volatile-ttl', 1],
      ['noeviction', 0],
    ] as const) {
      await using server = await ownRedis(['--maxmemory-policy', policy]);
      const codes: string[] = [];
      const store = redisStore(server.connect(), { onWarning: ({ code }) => codes.push(code) });
      await store.acquire(requestFor());
      await store.acquire(requestFor());
      await awaitUntil('it was asked', () =>
        server
          .connect()
          .ping()
          .then(() => codes.length >= expected),
      );
      expect(codes).toEqual(expected === 1 ? ['RECEIVER_REDIS_EVICTS'] : []);
    }
  });

  test('every command it is sent existed in Redis 6.2, and the list is short', async () => {
    await using server = await ownRedis();
    const used = new Set<string>();
    const monitor = await server.connect().monitor();
    monitor.on('monitor', (_time: string, [command = '']: string[]) => used.add(command.toLowerCase()));
    const store = redisStore(server.connect());
    const order = { subject: 'O', sequence: 1 };
    for (const request of [requestFor(), requestFor({ order })]) {
      await store.acquire(request);
      await store.renew(request);
      await store.release(request);
      await store.acquire(again(request));
      await store.complete(request);
      await store.forget(request.key, request.order?.subject);
    }
    const admin = server.connect();
    await awaitUntil('the monitor has caught up', () => admin.ping().then(() => used.has('ping')));
    monitor.disconnect();
    const ours = [...used].filter((name) => !['ping', 'monitor'].includes(name)).sort();
    expect(ours).toEqual(['del', 'eval', 'evalsha', 'get', 'info', 'set', 'time']);
    for (const name of ours) {
      const docs = (await admin.call('COMMAND', 'DOCS', name)) as [string, string[]];
      const since = docs[1][docs[1].indexOf('since') + 1] ?? '';
      expect(since.localeCompare('6.2.0', 'en', { numeric: true })).toBeLessThanOrEqual(0);
    }
  });

  test('a client with a key prefix of its own works, and so does one of ioredis 6', async () => {
    await using server = await ownRedis();
    const clients = [
      new Redis({ port: server.port, keyPrefix: 'mine:' }),
      new Redis6({ port: server.port, keyPrefix: 'mine6:' }),
    ];
    for (const client of clients) {
      const sender = senderTo(receiverFor({ store: redisStore(client), handler: () => undefined }));
      expect(line(await sender.once(event))).toBe('200 success handled');
      expect(line(await sender.once(event))).toBe('200 success duplicate');
      client.disconnect();
    }
    expect(await server.connect().keys('mine*')).toHaveLength(2);
  });

  test('a proxy that refuses keys of several slots in one command is found out once, and then asked one by one', async () => {
    await using cluster = await ownRedisCluster();
    let refused = 0;
    // What a proxy in front of a cluster does: one connection, every slot, but never two of them in one command.
    const proxied: RedisClient = {
      del: (key) => cluster.client.del(key),
      info: () => Promise.resolve('maxmemory_policy:noeviction'),
      eval: (lua, count, ...rest) => cluster.client.eval(lua, count, ...rest),
      evalsha: (sha, count, ...rest) => {
        if (count === 1) return cluster.client.evalsha(sha, count, ...rest);
        refused += 1;
        return Promise.reject(new Error("CROSSSLOT Keys in request don't hash to the same slot"));
      },
    };
    const sender = senderTo(receiverFor({ store: redisStore(proxied), handler: () => undefined }));
    for (let round = 0; round < 3; round += 1) {
      const replies = await Promise.all([1, 2, 3].map((n) => sender.once({ ...event, bizId: `P${round}-${n}` })));
      expect(replies.map(line)).toEqual(Array.from({ length: 3 }, () => '200 success handled'));
    }
    expect(refused).toBeLessThanOrEqual(2); // once for acquire, once for complete
  });
});

function plain(store: Store): Store {
  return {
    kind: store.kind,
    acquire: (request) => store.acquire(request),
    renew: (request) => store.renew(request),
    complete: (request, options) => store.complete(request, options),
    release: (request) => store.release(request),
    forget: (key, subject) => store.forget(key, subject),
  };
}

/** A server that answers every command the same, for answers that a real one gives only in the middle of an accident. */
async function scriptedRedis(answer: () => string): Promise<AsyncDisposable & { client: Redis }> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const commands = chunk.toString('latin1').match(/^\*\d+\r$/gm)?.length ?? 0;
      for (let i = 0; i < commands; i += 1) socket.write(answer());
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new Redis((server.address() as AddressInfo).port, { enableReadyCheck: false });
  client.on('error', () => undefined);
  return {
    client,
    async [Symbol.asyncDispose]() {
      client.disconnect();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}
