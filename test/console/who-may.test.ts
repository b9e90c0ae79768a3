import { ConfigurationError, createConsole, isConsoleError, type ConsoleOptions } from '@bestnotify/console';
import { expect, test } from 'vitest';
import { readPageFiles } from '../../packages/console/src/page-files.ts';
import { routes } from '../../packages/console/src/routes.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { consoleApp, hosts } from './console-app.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'];

test('without authorization every route and every file of the page answers 401, whatever the method', async () => {
  await using app = await consoleApp();
  const paths = [
    ...routes.map(({ path }) => path.replace(':id', 'ntf_1').replace(':number', '1')),
    ...readPageFiles().keys(),
    '/nothing',
    '/api/nothing',
    '/%2e%2e%2fpackage.json',
    '/assets/..%2f..%2fpackage.json',
  ];
  expect(paths.length).toBeGreaterThan(22);
  for (const path of paths) {
    for (const method of methods) {
      const answer = await fetch(`${app.url}${path.slice(1)}`, { method, redirect: 'manual' });
      expect([method, path, answer.status]).toEqual([method, path, 401]);
      expect((await answer.text()).length).toBeLessThan(100);
    }
  }
});

test('a 401 can ask the browser to ask its user', async () => {
  await using app = await consoleApp({ challenge: 'Basic realm="ops"' });
  expect((await fetch(app.url)).headers.get('www-authenticate')).toBe('Basic realm="ops"');
});

test('a console without authorize is not built', () => {
  const sender = { operations: { list: () => undefined } } as unknown as ConsoleOptions['sender'];
  const build = (options: object) => () => createConsole(options as ConsoleOptions);
  expect(build({ sender })).toThrow(ConfigurationError);
  expect(build({ sender })).toThrow(/authorize is missing/);
  expect(build({ authorize: () => undefined })).toThrow(/sender must be/);
  expect(build({ sender, authorize: () => undefined, origins: ['https://ops.example.com/x'] })).toThrow(/no origin/);
  try {
    build({ sender })();
  } catch (error) {
    expect(isConsoleError(error) && error.code).toBe('CONSOLE_CONFIGURATION');
  }
});

test.each([
  ['throws', () => Promise.reject(new Error('no directory'))],
  ['gives a role that does not exist', () => ({ actor: 'x', role: 'admin' }) as never],
  ['gives no actor', () => ({ role: 'operator' }) as never],
  ['gives endpoints that are no list', () => ({ actor: 'x', role: 'operator', endpoints: 'all' }) as never],
])('nobody is let in when authorize %s, and the host is told', async (_what, authorize) => {
  await using app = await consoleApp({ authorize });
  for (const path of ['', 'api/session', 'api/notifications']) {
    const answer = await fetch(`${app.url}${path}`);
    expect(answer.status).toBe(500);
    expect(await answer.text()).not.toContain('directory');
  }
  expect(app.errors).toHaveLength(3);
});

test('roles: a viewer sees neither bodies nor replies, a reader does not act', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  await app.outbox.query(
    `insert into attempt (notification_number, round, ordinal, started_at, duration_ms, outcome, status, because, snippet, url)
     select number, 1, 1, now(), 5, 'refused', 500, 'status-500', 'reply of a merchant', 'http://m.example/n' from notification`,
  );
  const seenBy = async (actor: string) => {
    const client = await app.as(actor);
    const details = await client.getJson<{ attemptLog: { snippetBase64: string | null }[] }>(`api/notifications/${id}`);
    const statuses: [string, number][] = [];
    for (const { method, path, needs } of routes) {
      const at = path
        .slice(1)
        .replace(':id', path.includes('endpoints') ? 'merchant-42' : id)
        .replace(':number', '1');
      const answer = method === 'GET' ? await client.get(at) : await client.post(at, { no: 'such' });
      statuses.push([needs, answer.status]);
    }
    const of = (needs: string) => [...new Set(statuses.filter(([each]) => each === needs).map(([, status]) => status))];
    return { details, view: of('view'), bodies: of('bodies'), act: of('act') };
  };

  const viewer = await seenBy('vera');
  expect(viewer.details).toMatchObject({ bodyBase64: null, curl: null, isErased: false });
  expect(viewer.details.attemptLog[0]?.snippetBase64).toBeNull();
  expect(viewer).toMatchObject({ view: [200], bodies: [403], act: [403] });

  const reader = await seenBy('ruth');
  expect(Buffer.from((reader.details as unknown as { bodyBase64: string }).bodyBase64, 'base64').toString()).toContain(
    '100.00',
  );
  expect(reader.details.attemptLog[0]?.snippetBase64).not.toBeNull();
  expect(reader).toMatchObject({ view: [200], bodies: [200], act: [403] });

  expect(await seenBy('olga')).toMatchObject({ view: [200], bodies: [200], act: [400] }); // an unknown member, and nothing done
  expect((await app.outbox.sender.operations.audit()).items).toEqual([]);
});

test('an action that does not come from the page is refused, and changes nothing', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  const client = await app.as('olga');
  const attack = async (headers: Record<string, string>) => {
    const answer = await client.post('api/endpoints/merchant-42/hold', {}, { headers });
    return answer.status;
  };
  expect(await attack({ 'x-csrf-token': '' })).toBe(403);
  expect(await attack({ 'x-csrf-token': 'A'.repeat(43) })).toBe(403);
  expect(await attack({ cookie: '' })).toBe(403);
  expect(await attack({ cookie: 'bestnotify-csrf=', 'x-csrf-token': '' })).toBe(403);
  expect(await attack({ 'sec-fetch-site': 'cross-site' })).toBe(403);
  expect(await attack({ 'sec-fetch-site': 'same-site' })).toBe(403);
  expect(await attack({ origin: 'https://evil.example' })).toBe(403);
  expect(await attack({ origin: 'null' })).toBe(403);
  expect(await attack({ 'content-type': 'text/plain' })).toBe(415);
  expect(await attack({ 'content-type': 'application/x-www-form-urlencoded' })).toBe(415);
  expect((await app.outbox.sender.endpoints.get('merchant-42'))?.heldBecause).toBeNull();
  expect((await app.outbox.sender.operations.audit()).items).toEqual([]);

  expect(await attack({ origin: new URL(app.url).origin })).toBe(200);
  expect((await app.outbox.sender.endpoints.get('merchant-42'))?.heldBecause).toBe('operator');
});

test('behind a proxy that hides its own origin, the origins that are named are ours', async () => {
  await using app = await consoleApp({ origins: ['https://ops.example.com'] });
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  const client = await app.as('olga');
  const from = (origin: string) => client.post('api/endpoints/merchant-42/hold', {}, { headers: { origin } });
  expect((await from('https://ops.example.com')).status).toBe(200);
  expect((await from('https://ops.example.com.evil.example')).status).toBe(403);
});

test('an operator of one endpoint sees and changes nothing of another', async () => {
  await using app = await consoleApp();
  const { sender } = app.outbox;
  for (const id of ['merchant-42', 'merchant-43']) await app.outbox.putEndpoint({ id });
  const mine = await sender.notify({ endpoint: 'merchant-42', ...paid });
  const other = await sender.notify({ endpoint: 'merchant-43', ...paid });
  await sender.operations.holdEndpoint('merchant-43', { note: 'of the other' });
  await app.outbox.query(`update outbox set state = 2, settled_at = now(), reason = 'gone' where endpoint_key <> 0`);
  const liam = await app.as('liam');

  type Page = { items: { id: string; endpoint: string }[] };
  const idsOf = async (query: string) =>
    (await liam.getJson<Page>(`api/notifications?${query}`)).items.map(({ id }) => id);
  for (const query of [
    '',
    'q=PAY1',
    `q=${mine.id}`,
    'state=dead',
    'reason=gone',
    'type=payment.success',
    'endpoint=merchant-42',
  ]) {
    expect([query, await idsOf(query)]).toEqual([query, [mine.id]]);
  }
  for (const query of ['endpoint=merchant-43', `q=${other.id}`])
    expect([query, await idsOf(query)]).toEqual([query, []]);
  expect((await liam.getJson<Page>('api/endpoints')).items.map(({ id }) => id)).toEqual(['merchant-42']);
  expect((await liam.getJson<Page>('api/audit')).items).toEqual([]);
  expect(await liam.getJson('api/overview')).toMatchObject({ stats: { dead: 1, diedSince: 1, heldEndpoints: 0 } });

  const forbidden = [
    `notifications/${other.id}/resend`,
    `notifications/${other.id}/send-now`,
    `notifications/${other.id}/cancel`,
    `notifications/${other.id}/close`,
    ...['hold', 'resume', 'rotate-secret', 'test-send'].map((action) => `endpoints/merchant-43/${action}`),
  ];
  for (const path of forbidden) {
    const body = path.endsWith('resend') ? { seen: 'dead' } : path.endsWith('close') ? { note: 'x' } : {};
    expect([path, (await liam.post(`api/${path}`, body)).status]).toEqual([path, 404]);
  }
  for (const path of [`notifications/${other.id}`, `notifications/${other.id}/body`, 'endpoints/merchant-43']) {
    expect((await liam.get(`api/${path}`)).status).toBe(404);
  }
  const bulk = await liam.post('api/bulk-resend', {
    filter: { state: 'dead', ids: [mine.id, other.id] },
    perSecond: 1000,
  });
  expect((await bulk.text()).trim().split('\n').at(-1)).toContain('"resent":1');
  expect((await sender.operations.show(other.id)).state).toBe('dead');
  expect((await sender.operations.show(mine.id)).state).toBe('pending');
  expect((await sender.operations.audit({ endpoint: 'merchant-43' })).items).toHaveLength(1); // the one from before
});

test.each(Object.keys(hosts))('mounted in %s: the page with its files, and actions', async (host) => {
  await using app = await consoleApp({ host });
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  const olga = await app.as('olga');
  const withoutSlash = await fetch(app.url.slice(0, -1), { headers: { 'x-actor': 'olga' }, redirect: 'manual' });
  expect([withoutSlash.status, withoutSlash.headers.get('location')]).toEqual([302, './ops/']);

  const page = await olga.get('');
  const policy = page.headers.get('content-security-policy') ?? '';
  const html = await page.text();
  const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? 'none';
  expect(policy).toContain("script-src 'self';");
  expect(policy).not.toContain('unsafe');
  expect(html).toContain(`nonce="${nonce}"`);
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/); // nothing inline
  expect(html).not.toMatch(/(src|href)="(https?:)?\/\//); // nothing from elsewhere
  expect(await (await olga.get('')).text()).not.toContain(nonce);
  for (const [, file = ''] of html.matchAll(/(?:src|href)="\.\/([^"]+)"/g)) {
    const answer = await olga.get(file);
    expect([file, answer.status, answer.headers.get('x-content-type-options')]).toEqual([file, 200, 'nosniff']);
  }
  expect((await olga.post('api/endpoints/merchant-42/hold', { note: 'planned' })).status).toBe(200);
  expect((await app.outbox.sender.operations.audit()).items).toMatchObject([
    { actor: 'olga', action: 'hold-endpoint', endpoint: 'merchant-42', note: 'planned' },
  ]);
});
