import {
  generateKeyPair,
  generateSecret,
  parseVerifyingKey,
  verifyBody,
  verifyNotification,
} from '@bestnotify/protocol';
import type { NotificationInput } from '@bestnotify/sender';
import type { RecordedRequest } from '@bestnotify/sender/testing';
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { consoleApp, type ConsoleApp } from './console-app.ts';

async function deadNotification(app: ConsoleApp, url: string, bizId = 'PAY1') {
  await app.outbox.putEndpoint({ id: 'merchant-42', url, maxAttempts: 1 });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId });
  await app.outbox.sender.runOnce();
  return id;
}

test('a resend from a list that is out of date changes nothing and says what the state is now (R190)', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(500, 200);
  const id = await deadNotification(app, endpoint.url);
  const [first, second] = [await app.as('olga'), await app.as('olga')];
  expect((await second.post(`api/notifications/${id}/resend`, { seen: 'dead' })).status).toBe(200);
  await app.outbox.sender.runOnce();

  const stale = await first.post(`api/notifications/${id}/resend`, { seen: 'dead' });
  expect(stale.status).toBe(409);
  expect(await stale.json()).toMatchObject({ error: 'conflict', state: 'delivered', isClaimed: false });
  await app.outbox.sender.runOnce();
  expect(endpoint.requests).toHaveLength(2);

  const closing = await first.post(`api/notifications/${id}/close`, { note: 'by hand' });
  expect([closing.status, await closing.json()]).toMatchObject([409, { state: 'delivered' }]);
});

test('five resends of a pending row at one moment start no second run; send now only hurries the one there is (R191)', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(500, 200);
  await app.outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  await app.outbox.sender.runOnce();
  const olga = await app.as('olga');
  const five = await Promise.all(
    Array.from({ length: 5 }, () => olga.post(`api/notifications/${id}/resend`, { seen: 'pending' })),
  );
  expect(five.map(({ status }) => status)).toEqual([409, 409, 409, 409, 409]);
  expect(
    (await Promise.all(Array.from({ length: 5 }, () => olga.post(`api/notifications/${id}/send-now`)))).map(
      ({ status }) => status,
    ),
  ).toEqual([200, 200, 200, 200, 200]);
  await app.outbox.sender.runOnce();
  expect(endpoint.requests).toHaveLength(2);
  expect(await olga.getJson(`api/notifications/${id}`)).toMatchObject({ state: 'delivered', round: 1, attempts: 2 });
});

test('a resend sends the bytes of the first time (R022)', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(500, 200);
  const raw = { bytes: Buffer.from('{"amount":1.0,"b":1.00,"c":1e2}'), contentType: 'application/json' };
  await app.outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, maxAttempts: 1 });
  const { id } = await app.outbox.sender.notify({
    endpoint: 'merchant-42',
    type: 'payment.success',
    bizId: 'PAY1',
    raw,
  });
  await app.outbox.sender.runOnce();
  await (await app.as('olga')).post(`api/notifications/${id}/resend`, { seen: 'dead' });
  await app.outbox.sender.runOnce();
  expect(endpoint.requests.map(({ body }) => body.toString())).toEqual(Array(2).fill(raw.bytes.toString()));
});

test('many are resent after a dry run that changes nothing, with progress, and audited', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(200);
  await app.outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
  await app.outbox.sender.notifyMany(
    Array.from({ length: 30 }, (_, index) => ({ endpoint: 'merchant-42', ...paid, bizId: `PAY${index}` })),
  );
  await app.outbox.query(`update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up'`);
  const olga = await app.as('olga');
  const body = { filter: { state: 'dead', endpoint: 'merchant-42' }, perSecond: 1000, note: 'they are back' };
  const dry = await olga.post('api/bulk-resend', { ...body, dryRun: true });
  expect(await dry.json()).toMatchObject({ run: null, matched: 30, resent: 0 });
  expect((await app.outbox.sender.operations.stats()).dead).toBe(30);
  expect((await app.outbox.sender.operations.audit()).items).toEqual([]);

  const real = await olga.post('api/bulk-resend', body);
  const lines = (await real.text()).trim().split('\n');
  expect(JSON.parse(lines.at(-1)!)).toMatchObject({ matched: 30, resent: 30, skipped: 0, isFinished: true });
  expect(await app.outbox.sender.runOnce()).toMatchObject({ delivered: 30 });
  expect((await app.outbox.sender.operations.audit()).items).toMatchObject([
    { actor: 'olga', action: 'resend-many', note: 'they are back' },
  ]);
});

test('a run is continued by whoever may act on all of it; for others there is none of that number', async () => {
  await using app = await consoleApp();
  for (const id of ['merchant-42', 'merchant-43']) await app.outbox.putEndpoint({ id });
  const { operations } = app.outbox.sender;
  await app.outbox.sender.notifyMany(
    Array.from({ length: 600 }, (_, index) => ({
      endpoint: `merchant-${42 + (index % 2)}`,
      ...paid,
      bizId: `PAY${index}`,
    })),
  );
  await app.outbox.query(`update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up'`);
  const death = new AbortController();
  await operations.resendMany({ state: 'dead' }, { signal: death.signal, onProgress: () => death.abort() });
  const [olga, liam] = [await app.as('olga'), await app.as('liam')];
  type Runs = { items: { run: string; chosen: number | null; filter: object }[] };
  const { items } = await olga.getJson<Runs>('api/bulk-runs');
  expect(items).toMatchObject([{ matched: 600, resent: 500, chosen: null, filter: { state: 'dead' } }]);
  const run = items[0]!.run;
  expect(await liam.getJson<Runs>('api/bulk-runs')).toEqual({ items: [] });
  expect((await liam.post('api/bulk-resend', { resume: run })).status).toBe(404);
  expect((await liam.post(`api/bulk-runs/${run}/stop`)).status).toBe(400);
  expect((await olga.post('api/bulk-resend', { resume: run, filter: { state: 'dead' } })).status).toBe(400);

  const lines = await (await olga.post('api/bulk-resend', { resume: run, note: 'after the crash' })).text();
  expect(JSON.parse(lines.trim().split('\n').at(-1)!)).toMatchObject({
    run,
    matched: 600,
    resent: 600,
    isFinished: true,
  });
  expect((await olga.post('api/bulk-resend', { resume: run })).status).toBe(404);
  expect((await operations.audit()).items[0]).toMatchObject({
    action: 'resume-resend-many',
    actor: 'olga',
    note: 'after the crash',
  });
});

test('a test goes the way of live notifications, to one endpoint only, and stands in the list (R193)', async () => {
  await using app = await consoleApp();
  await using tested = await scriptedEndpoint(200);
  await using other = await scriptedEndpoint(200);
  const secret = await app.outbox.putEndpoint({ id: 'merchant-42', url: tested.url });
  await app.outbox.putEndpoint({ id: 'merchant-43', url: other.url });
  const olga = await app.as('olga');
  const { id } = (await (await olga.post('api/endpoints/merchant-42/test-send')).json()) as { id: string };
  await app.outbox.sender.runOnce();
  expect(other.requests).toHaveLength(0);
  const [request] = tested.requests;
  expect(request?.headers['x-event-type']).toBe('bestnotify.test');
  expect(
    verifyNotification({ headers: request!.headers, body: request!.body, keys: [parseVerifyingKey(secret)] }).id,
  ).toBe(id);
  expect(await olga.getJson('api/notifications?type=bestnotify.test')).toMatchObject({
    items: [{ id, state: 'delivered', endpoint: 'merchant-42' }],
  });
});

test('a test reaches nothing that a live notification could not reach (R124)', async () => {
  await using app = await consoleApp();
  await using internal = await scriptedEndpoint(200);
  await app.outbox.putEndpoint({ id: 'merchant-42', url: internal.url });
  const olga = await app.as('olga');
  const { id } = (await (await olga.post('api/endpoints/merchant-42/test-send')).json()) as { id: string };
  await app.outbox.another({ allowPrivateNetwork: [] }).runOnce();
  expect(internal.requests).toHaveLength(0);
  expect(await olga.getJson(`api/notifications/${id}`)).toMatchObject({
    state: 'dead',
    attemptLog: [{ outcome: 'not-sent', because: 'forbidden-address', snippetBase64: null }],
  });
});

test('a secret is in the answer to its rotation, and in no other answer (R202, R041)', async () => {
  await using app = await consoleApp();
  const old = await app.outbox.putEndpoint({ id: 'merchant-42' });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  const olga = await app.as('olga');
  const rotated = await olga.post('api/endpoints/merchant-42/rotate-secret', { overlapHours: 1 });
  const { secret } = (await rotated.json()) as { secret: string };
  expect(rotated.headers.get('cache-control')).toBe('no-store');
  const answers = await Promise.all(
    ['session', 'overview', 'notifications', `notifications/${id}`, 'endpoints', 'endpoints/merchant-42', 'audit'].map(
      async (path) => (await olga.get(`api/${path}`)).text(),
    ),
  );
  const shown = answers.join('\n');
  for (const each of [old, secret]) {
    const bytes = Buffer.from(each.slice('whsec_'.length), 'base64');
    for (const form of [
      each,
      each.slice(6),
      bytes.toString('hex'),
      Buffer.from(each).toString('base64').slice(0, 40),
    ]) {
      expect(shown).not.toContain(form);
    }
  }
  const endpoint = await olga.getJson<{ secrets: { fingerprint: string }[] }>('api/endpoints/merchant-42');
  expect(endpoint.secrets.map(({ fingerprint }) => fingerprint)).toEqual([
    expect.stringMatching(/^[0-9a-f]{8}$/),
    expect.stringMatching(/^[0-9a-f]{8}$/),
  ]);
});

test('a reply is kept to be saved, never shown by the browser under our origin (R200)', async () => {
  await using app = await consoleApp();
  const hostile = '<script>fetch("/api/deliveries")</script>';
  await using endpoint = await scriptedEndpoint({
    status: 500,
    headers: { 'content-type': 'text/html' },
    body: hostile,
  });
  const id = await deadNotification(app, endpoint.url);
  const olga = await app.as('olga');
  for (const path of ['body', 'replies/1']) {
    const raw = await olga.get(`api/notifications/${id}/${path}`);
    expect(raw.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(raw.headers.get('x-content-type-options')).toBe('nosniff');
    expect(raw.headers.get('content-disposition')).toMatch(/^attachment; filename="ntf_[\w.-]+"$/);
    expect(raw.headers.get('content-security-policy')).toContain("default-src 'none'");
  }
  expect(await (await olga.get(`api/notifications/${id}/replies/1`)).text()).toBe(hostile);
  for (const number of ['0', '2', '-1', '1e0', '999999999']) {
    expect((await olga.get(`api/notifications/${id}/replies/${number}`)).status).toBe(404);
  }
});

const run = promisify(execFile);

/** What a merchant sees of a request, apart from who sends it and when. */
function seen({ headers, body }: RecordedRequest) {
  const { 'user-agent': _, accept: _2, connection: _3, 'content-length': _4, ...rest } = headers;
  const atThatTime = ['webhook-timestamp', 'webhook-signature'].filter((name) => name in rest);
  return {
    ...rest,
    ...Object.fromEntries(atThatTime.map((name) => [name, 'made anew'])),
    body: body.toString('latin1'),
  };
}

const json = 'application/json';
const pair = generateKeyPair();
const secrets = { v1: generateSecret(), v1a: pair.privateKey, 'body-hmac': 'a plain secret of the body-hmac profile' };

test.each<[string, keyof typeof secrets, Pick<NotificationInput, 'data' | 'raw'>]>([
  ['an envelope', 'v1', { data: { text: 'it\'s $HOME `id` "x" 订单' } }],
  ['an envelope signed with Ed25519', 'v1a', { data: { amount: '100.00' } }],
  ['a long envelope, kept in a file', 'v1', { data: { long: 'x'.repeat(5000) } }],
  [
    'a form of its own',
    'v1',
    { raw: { bytes: Buffer.from('a=1&b=%E4%BD%A0'), contentType: 'application/x-www-form-urlencoded' } },
  ],
  [
    'bytes that are no text',
    'v1',
    { raw: { bytes: Buffer.from([0, 255, 10, 39, 128]), contentType: 'application/octet-stream' } },
  ],
  ['the body of the profile body-hmac', 'body-hmac', { data: { amount: '100.00', b: 1 } }],
  [
    'a raw body under the profile body-hmac',
    'body-hmac',
    { raw: { bytes: Buffer.from('{"a":1.0}'), contentType: json } },
  ],
])('the curl script sends what the worker sends once the secret is filled in: %s', async (_what, kind, content) => {
  const secret = secrets[kind];
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(500, 200);
  await app.outbox.sender.endpoints.put({
    ...{
      id: 'merchant-42',
      url: `${endpoint.url}?token=hidden`,
      secrets: [secret],
      profile: kind === 'body-hmac' ? kind : 'v1',
    },
    ...{ allowHttp: true, allowPrivateNetwork: true, maxAttempts: 1 },
  });
  const { id } = await app.outbox.sender.notify({
    endpoint: 'merchant-42',
    type: 'payment.success',
    bizId: 'PAY1',
    ...content,
  });
  await app.outbox.sender.runOnce();
  const ruth = await app.as('ruth');
  const { curl } = await ruth.getJson<{ curl: string }>(`api/notifications/${id}`);
  expect(curl).not.toContain(secret.slice(6));
  expect(curl).not.toContain('hidden');

  const file = path.join(process.env['TMPDIR'] ?? '/tmp', `${id}.body`);
  await writeFile(file, Buffer.from(await (await ruth.get(`api/notifications/${id}/body`)).arrayBuffer()));
  const filledIn = curl.replace(/'<the endpoint secret[^']*'/, `'${secret}'`).replace(`'${id}.body'`, `'${file}'`);
  const { stdout } = await run('sh', ['-ec', filledIn.replace(endpoint.url, `${endpoint.url}?token=hidden`)]);
  await rm(file);
  expect(stdout).toContain('success');
  const [byWorker, byHand] = endpoint.requests;
  expect(seen(byHand!)).toEqual(seen(byWorker!));
  if (kind === 'body-hmac') {
    verifyBody({ headers: byHand!.headers, body: byHand!.body, secrets: [secret] });
  } else {
    const key = parseVerifyingKey(kind === 'v1a' ? pair.publicKey : secret);
    expect(verifyNotification({ headers: byHand!.headers, body: byHand!.body, keys: [key] }).id).toBe(id);
  }
});

test('the curl script says that the endpoint adds something, and not what; data that cannot be sent has no script', async () => {
  await using app = await consoleApp();
  const put = (id: string, more: object) =>
    app.outbox.sender.endpoints.put({
      ...{ id, url: 'https://shop.example/n', secrets: [secrets['body-hmac']], profile: 'body-hmac', owner: 'shop' },
      ...more,
    });
  await put('merchant-42', { headers: { 'x-gateway': 'value-of-theirs' }, auth: { bearer: 'token-of-theirs' } });
  await put('merchant-43', {});
  const ruth = await app.as('ruth');
  const curlOf = async (endpoint: string, data: unknown) => {
    const { id } = await app.outbox.sender.notify({ endpoint, ...paid, bizId: JSON.stringify(data), data });
    return (await ruth.getJson<{ curl: string | null }>(`api/notifications/${id}`)).curl;
  };
  const script = await curlOf('merchant-42', { a: 1 });
  expect(script).toContain('headers, credentials or a certificate of its own');
  expect(script).not.toMatch(/of-theirs|x-gateway/);
  expect(await curlOf('merchant-43', { a: 1 })).not.toContain('of its own');
  expect(await curlOf('merchant-43', [1])).toBeNull();
});
