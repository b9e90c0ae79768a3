import { TLSSocket } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import { createDeliverer, type Deliverer } from '../src/worker/deliver.js';
import { checkTlsSettings, type TlsSettings } from '../src/wire/tls-identity.js';
import { httpsServer, pem, requestTo, tcpServer, type LocalServer } from './fixtures/local-server.js';

const ca = pem('authority');
const serverFiles = { cert: pem('server'), key: pem('server.key') };
const deliverers: Deliverer[] = [];

function deliverTo(server: LocalServer, made = deliverer()) {
  return (tls: TlsSettings | undefined, host = 'merchant.example') =>
    made.deliver(requestTo(`https://${host}:${server.port}/`, { tls }));
}

function deliverer(connectTimeoutMs = 5000): Deliverer {
  const made = createDeliverer({
    allowPrivateNetwork: ['127.0.0.0/8'],
    lookUpName: () => Promise.resolve({ addresses: ['127.0.0.1'], ttlMs: 60_000 }),
    connectTimeoutMs,
  });
  deliverers.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(deliverers.splice(0).map((each) => each.close()));
});

test('a private authority is trusted by the endpoint that names it, and by no other', async () => {
  await using server = await httpsServer(serverFiles);
  const deliver = deliverTo(server);
  expect(await deliver({ ca })).toMatchObject({ kind: 'replied', status: 200 });
  expect(await deliver(undefined)).toMatchObject({ kind: 'not-sent', because: 'tls' });
  expect(await deliver({ ca: pem('stranger') })).toMatchObject({ kind: 'not-sent', because: 'tls' });
  expect(server.requests).toHaveLength(1);
});

test('the name is sent as SNI and checked against the certificate, not the address', async () => {
  const names: (string | false)[] = [];
  await using server = await httpsServer(serverFiles, (request, response) => {
    names.push(Reflect.get(request.socket, 'servername') as string | false);
    response.end('success');
  });
  const deliver = deliverTo(server);
  expect(await deliver({ ca })).toMatchObject({ kind: 'replied' });
  expect(await deliver({ ca }, '127.0.0.1')).toMatchObject({ kind: 'replied' });
  expect(await deliver({ ca }, 'other.example')).toMatchObject({
    because: 'tls',
    error: expect.stringContaining('ERR_TLS_CERT_ALTNAME_INVALID') as string,
  });
  expect(names).toEqual(['merchant.example', false]);
});

test('R128 a trailing dot is in neither SNI nor Host', async () => {
  await using server = await httpsServer(serverFiles);
  expect(await deliverTo(server)({ ca }, 'MERCHANT.example.')).toMatchObject({ kind: 'replied' });
  expect(server.requests[0]?.headers.host).toBe(`merchant.example:${server.port}`);
});

test('R140 an expired certificate, an old TLS version and a server that speaks none are failures of tls', async () => {
  await using expired = await httpsServer({ cert: pem('expired'), key: pem('expired.key') });
  expect(await deliverTo(expired)({ ca })).toMatchObject({
    because: 'tls',
    error: expect.stringContaining('CERT_HAS_EXPIRED') as string,
  });
  await using old = await httpsServer({ ...serverFiles, maxVersion: 'TLSv1.2' });
  expect(await deliverTo(old)({ ca })).toMatchObject({ kind: 'replied' });
  expect(await deliverTo(old)({ ca, minVersion: 'TLSv1.3' })).toMatchObject({ kind: 'not-sent', because: 'tls' });
  await using silent = await tcpServer(() => undefined);
  expect(await deliverTo(silent, deliverer(400))({ ca })).toMatchObject({
    because: 'tls',
    error: 'no TLS session within 400 ms',
  });
  await using plain = await tcpServer((socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\nsuccess'));
  expect(await deliverTo(plain)({ ca })).toMatchObject({ kind: 'not-sent', because: 'tls' });
});

test('no environment variable switches the check off', async () => {
  await using server = await httpsServer(serverFiles);
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  const outcome = await deliverTo(server)(undefined);
  Reflect.deleteProperty(process.env, 'NODE_TLS_REJECT_UNAUTHORIZED');
  expect(outcome).toMatchObject({ kind: 'not-sent', because: 'tls' });
});

test('mutual TLS: each endpoint shows its own certificate, and a kept connection never shows another', async () => {
  const seen: (string | undefined)[] = [];
  const options = { ...serverFiles, ca, requestCert: true, rejectUnauthorized: false };
  await using server = await httpsServer(options, (request, response) => {
    const { socket } = request;
    seen.push(socket instanceof TLSSocket ? socket.getPeerX509Certificate()?.subject : undefined);
    response.end('success');
  });
  const deliver = deliverTo(server);
  const clientA = { ca, cert: pem('client-a'), key: pem('client-a.key') };
  const clientB = { ca, cert: pem('client-b'), key: pem('client-b.key') };
  for (const tls of [clientA, clientB, { ca }, clientA, clientB, { ...clientA }]) {
    expect(await deliver(tls)).toMatchObject({ kind: 'replied' });
  }
  expect(seen).toEqual(['CN=client-a', 'CN=client-b', undefined, 'CN=client-a', 'CN=client-b', 'CN=client-a']);
  expect(server.connections).toBe(3);
});

test('certificates that cannot be read are refused when they are stored, and end an attempt without a crash', async () => {
  const broken = { ca, cert: pem('client-a'), key: pem('client-b.key') };
  expect(() => {
    checkTlsSettings(broken);
  }).toThrow(expect.objectContaining({ code: 'SENDER_CONFIGURATION', option: 'tls' }));
  expect(() => {
    checkTlsSettings({ cert: pem('client-a') });
  }).toThrow(/cert and key together/);
  expect(() => {
    checkTlsSettings({ cert: 'nonsense', key: 'nonsense' });
  }).toThrow(/PEM/);
  await using server = await httpsServer(serverFiles);
  expect(await deliverTo(server)(broken)).toMatchObject({ kind: 'not-sent', because: 'tls' });
});
