import { afterEach, expect, test } from 'vitest';
import { createDeliverer, delivererDefaults, type Deliverer, type DelivererOptions } from '../src/worker/deliver.js';
import type { Outcome } from '../src/worker/outcome.js';
import { httpServer, requestTo, tcpServer } from './fixtures/local-server.js';

const deliverers: Deliverer[] = [];

function deliverer(options: DelivererOptions = {}): Deliverer {
  const made = createDeliverer({
    allowPrivateNetwork: ['127.0.0.0/8'],
    lookUpName: () => Promise.resolve({ addresses: ['127.0.0.1'], ttlMs: 60_000 }),
    requestTimeoutMs: 10_000,
    connectTimeoutMs: 5000,
    ...options,
  });
  deliverers.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(deliverers.splice(0).map((each) => each.close()));
});

test('R118 the socket goes to the address that was checked, and the name stays in Host', async () => {
  await using server = await httpServer();
  const outcome = await deliverer().deliver(requestTo(`http://no-such-name.example:${server.port}/a?b=c`));
  expect(outcome).toMatchObject({ kind: 'replied', status: 200, body: Buffer.from('success') });
  expect(server.requests[0]).toMatchObject({ method: 'POST', url: '/a?b=c' });
  expect(server.requests[0]?.headers.host).toBe(`no-such-name.example:${server.port}`);
});

test('R118 a name that is public first and loopback later never reaches loopback', async () => {
  await using server = await httpServer();
  let lookUps = 0;
  const { deliver } = deliverer({
    allowPrivateNetwork: [],
    connectTimeoutMs: 200,
    lookUpName: () => Promise.resolve({ addresses: [lookUps++ === 0 ? '93.184.216.34' : '127.0.0.1'], ttlMs: 0 }),
  });
  const send = () => deliver(requestTo(`http://rebinding.example:${server.port}/`));
  expect(await send()).toMatchObject({ kind: 'not-sent', because: 'connect' });
  // Until the first answer has left the cache.
  await expect.poll(send, { timeout: 10_000 }).toMatchObject({ kind: 'not-sent', because: 'forbidden-address' });
  expect(lookUps).toBeGreaterThan(1);
  expect(server.connections).toBe(0);
});

test('an open connection to a private network serves nobody who may not go there', async () => {
  await using server = await httpServer();
  const { deliver } = deliverer();
  const url = `http://lan.example:${server.port}/`;
  expect(await deliver(requestTo(url))).toMatchObject({ kind: 'replied' });
  const refused = await deliver(requestTo(url, { allowPrivateNetwork: [] }));
  expect(refused).toMatchObject({ kind: 'not-sent', because: 'forbidden-address' });
  expect((refused as { error: string }).error).toMatch(/lan\.example is 127\.0\.0\.1.*allowPrivateNetwork/);
  expect(server.connections).toBe(1);
});

test('the endpoint alone cannot open a private network', async () => {
  await using server = await httpServer();
  const { deliver } = deliverer({ allowPrivateNetwork: [] });
  expect(await deliver(requestTo(`http://127.0.0.1:${server.port}/`))).toMatchObject({ because: 'forbidden-address' });
  expect(await deliver(requestTo(`http://localhost:${server.port}/`))).toMatchObject({ because: 'forbidden-address' });
  expect(server.connections).toBe(0);
});

test('connections are kept: twenty requests one after the other need two connections at most, and one look-up', async () => {
  await using server = await httpServer();
  let lookUps = 0;
  const lookUpName = () => Promise.resolve({ addresses: ['127.0.0.1'], ttlMs: ++lookUps });
  const { deliver } = deliverer({ lookUpName });
  for (let i = 0; i < 20; i++) await deliver(requestTo(`http://kept.example:${server.port}/`));
  expect(server.requests).toHaveLength(20);
  expect(server.connections).toBeLessThanOrEqual(2);
  expect(lookUps).toBe(1);
});

test('R109 a kept connection that breaks costs one attempt, and the request is not repeated in secret', async () => {
  let requests = 0;
  await using server = await tcpServer((socket) => {
    socket.on('data', () => {
      requests += 1;
      if (requests % 2 === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsuccess');
      else socket.resetAndDestroy();
    });
  });
  const { deliver } = deliverer();
  const kinds: string[] = [];
  for (let i = 0; i < 6; i++) kinds.push((await deliver(requestTo(`http://127.0.0.1:${server.port}/`))).kind);
  expect(kinds).toEqual(['replied', 'no-answer', 'replied', 'no-answer', 'replied', 'no-answer']);
  expect(requests).toBe(6);
});

test.each([
  ['http://127.0.0.1:1/', 'invalid-url', /Port 1/],
  ['not a url', 'invalid-url', /white space/],
  ['', 'invalid-url', /absolute URL/],
  ['https://u:hunter2@127.0.0.1/', 'invalid-url', /auth option/],
])('%j is not sent', async (url, because, error) => {
  const outcome = await deliverer().deliver(requestTo(url));
  expect(outcome).toMatchObject({ kind: 'not-sent', because });
  expect((outcome as { error: string }).error).toMatch(error);
  expect(JSON.stringify(outcome)).not.toContain('hunter2');
});

test('plain http to an endpoint that does not allow it is not sent', async () => {
  await using server = await httpServer();
  const outcome = await deliverer().deliver(requestTo(`http://127.0.0.1:${server.port}/`, { allowHttp: false }));
  expect(outcome).toMatchObject({ kind: 'not-sent', because: 'invalid-url' });
  expect(server.connections).toBe(0);
});

test.each(['a\r\nX-Evil: 1', 'a\0', 'a\nb', '支付'])(
  'R115 R116 the header value %j is never written',
  async (value) => {
    await using server = await httpServer();
    const headers = { 'x-event-type': value };
    const outcome = await deliverer().deliver(requestTo(`http://127.0.0.1:${server.port}/`, { headers }));
    expect(outcome).toMatchObject({ kind: 'not-sent', because: 'invalid-url' });
    expect(server.requests).toHaveLength(0);
  },
);

test('R140 a refused connection, an unknown name and a silent name server are told apart', async () => {
  const closed = await httpServer();
  await closed[Symbol.asyncDispose]();
  const url = `http://127.0.0.1:${closed.port}/`;
  expect(await deliverer().deliver(requestTo(url))).toMatchObject({
    because: 'connect',
    error: expect.stringContaining('ECONNREFUSED') as string,
  });
  const unknown = () => Promise.reject(Object.assign(new Error('queryA ENOTFOUND x.example'), { code: 'ENOTFOUND' }));
  expect(await deliverer({ lookUpName: unknown }).deliver(requestTo('https://x.example/'))).toMatchObject({
    because: 'dns',
    error: 'queryA ENOTFOUND x.example',
  });
  const silent = () => new Promise<never>(() => undefined);
  expect(
    await deliverer({ lookUpName: silent, connectTimeoutMs: 300 }).deliver(requestTo('https://x.example/')),
  ).toMatchObject({
    because: 'dns',
    error: expect.stringMatching(/within 300 ms/) as string,
  });
});

test('R112 fifty endpoints on a dead name do not hold up a healthy one', async () => {
  await using server = await httpServer();
  const asked: string[] = [];
  const { deliver } = deliverer({
    connectTimeoutMs: 1000,
    lookUpName: (hostname) => {
      asked.push(hostname);
      return hostname === 'dead.example'
        ? new Promise(() => undefined)
        : Promise.resolve({ addresses: ['127.0.0.1'], ttlMs: 0 });
    },
  });
  const dead = Promise.all(
    Array.from({ length: 50 }, (_, i) => deliver(requestTo(`http://dead.example:${1024 + i}/`))),
  );
  const healthy = await deliver(requestTo(`http://healthy.example:${server.port}/`));
  expect(healthy).toMatchObject({ kind: 'replied' });
  const outcomes = await dead;
  expect(outcomes.every(({ kind, durationMs }) => kind === 'not-sent' && durationMs > healthy.durationMs)).toBe(true);
  expect(asked.sort()).toEqual(['dead.example', 'healthy.example']);
});

test('R113 an address that cannot be reached does not hide the one that can', async () => {
  await using server = await httpServer();
  const lookUpName = () => Promise.resolve({ addresses: ['::1', '127.9.9.9', '127.0.0.1'], ttlMs: 0 });
  const { deliver } = deliverer({ lookUpName, allowPrivateNetwork: ['127.0.0.0/8', '::1/128'] });
  const request = requestTo(`http://dual.example:${server.port}/`, { allowPrivateNetwork: ['0.0.0.0/0', '::/0'] });
  expect(await deliver(request)).toMatchObject({ kind: 'replied', status: 200 });
});

test('a connection is made to no environment proxy', async () => {
  await using server = await httpServer();
  await using proxy = await httpServer();
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'ALL_PROXY', 'NODE_USE_ENV_PROXY'];
  for (const name of names) process.env[name] = name === 'NODE_USE_ENV_PROXY' ? '1' : `http://127.0.0.1:${proxy.port}`;
  const outcome = await deliverer().deliver(requestTo(`http://127.0.0.1:${server.port}/`));
  for (const name of names) Reflect.deleteProperty(process.env, name);
  expect(outcome).toMatchObject({ kind: 'replied' });
  expect(proxy.connections).toBe(0);
});

test('a request whose time ran out while it waited for a connection is never written', async () => {
  const bodies: string[] = [];
  await using server = await tcpServer((socket) => {
    socket.on('data', (chunk) => {
      const body = chunk.toString().split('\r\n\r\n')[1] ?? '';
      bodies.push(body);
      if (body !== 'held') socket.write('HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsuccess');
    });
  });
  const { deliver } = deliverer({ maxConnectionsPerOrigin: 1, requestTimeoutMs: 1000 });
  const url = `http://127.0.0.1:${server.port}/`;
  const outcomes = await Promise.all(
    ['first', 'held', 'waiting'].map((body) => deliver(requestTo(url, { body: Buffer.from(body) }))),
  );
  expect(outcomes.map(({ kind }) => kind)).toEqual(['replied', 'no-answer', 'not-sent']);
  expect(outcomes[2]).toMatchObject({ because: 'connect', error: 'no connection was free within 1000 ms' });
  const after = await deliver(requestTo(url, { body: Buffer.from('last') }));
  expect(after).toMatchObject({ kind: 'replied' });
  expect(bodies).toEqual(['first', 'held', 'last']);
});

test('stopping tells a request that may have arrived from one that cannot', async () => {
  await using server = await httpServer(() => undefined);
  const { deliver } = deliverer({ lookUpName: () => new Promise(() => undefined) });
  const stop = new AbortController();
  const running = deliver(requestTo(`http://127.0.0.1:${server.port}/`), { signal: stop.signal });
  const connecting = deliver(requestTo('http://silent.example:8080/'), { signal: stop.signal });
  await expect.poll(() => server.requests.length).toBe(1);
  stop.abort();
  expect(await running).toMatchObject({ kind: 'aborted', mayHaveArrived: true });
  expect(await connecting).toMatchObject({ kind: 'aborted', mayHaveArrived: false });
  const late = await deliver(requestTo(`http://127.0.0.1:${server.port}/`), { signal: stop.signal });
  expect(late).toEqual({ kind: 'aborted', mayHaveArrived: false, durationMs: 0 });
  expect(server.requests).toHaveLength(1);
});

test('one signal stops hundreds of requests and collects no listeners', async () => {
  await using server = await httpServer();
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on('warning', onWarning);
  const { deliver } = deliverer();
  const { signal } = new AbortController();
  const url = `http://127.0.0.1:${server.port}/`;
  const outcomes: Outcome[] = await Promise.all(Array.from({ length: 200 }, () => deliver(requestTo(url), { signal })));
  process.off('warning', onWarning);
  expect(outcomes.every(({ kind }) => kind === 'replied')).toBe(true);
  expect(warnings).toEqual([]);
});

test('at most so many connections are made to one origin', async () => {
  await using server = await httpServer();
  const { deliver } = deliverer({ maxConnectionsPerOrigin: 3 });
  await Promise.all(Array.from({ length: 50 }, () => deliver(requestTo(`http://127.0.0.1:${server.port}/`))));
  expect(server.requests).toHaveLength(50);
  expect(server.connections).toBeLessThanOrEqual(3);
});

test('after close every request ends as internal, and none hangs', async () => {
  await using server = await httpServer(() => undefined);
  const closing = deliverer();
  const running = closing.deliver(requestTo(`http://127.0.0.1:${server.port}/`));
  await expect.poll(() => server.requests.length).toBe(1);
  await closing.close();
  expect((await running).kind).toBe('no-answer');
  expect((await closing.deliver(requestTo(`http://127.0.0.1:${server.port}/`))).kind).toBe('internal');
});

test('by default a connection takes at most half of the time a request has', () => {
  expect(delivererDefaults.connectTimeoutMs * 2).toBeLessThanOrEqual(delivererDefaults.requestTimeoutMs);
});

test.each([
  [{ connectTimeoutMs: 0 }, 'connectTimeoutMs'],
  [{ requestTimeoutMs: 2 ** 31 }, 'requestTimeoutMs'],
  [{ requestTimeoutMs: Number.NaN }, 'requestTimeoutMs'],
  [{ maxConnectionsPerOrigin: 1.5 }, 'maxConnectionsPerOrigin'],
  [{ allowPrivateNetwork: ['0.0.0.0/0'] }, 'allowPrivateNetwork[0]'],
  [{ denyNetwork: ['x'] }, 'denyNetwork[0]'],
])('R131 the options %j are refused', (options, option) => {
  expect(() => createDeliverer(options)).toThrow(expect.objectContaining({ code: 'SENDER_CONFIGURATION', option }));
});
