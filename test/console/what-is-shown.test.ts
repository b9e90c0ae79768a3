import { expect, test } from 'vitest';
import { rawReply, scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { consoleApp } from './console-app.ts';

type Page = { items: Record<string, unknown>[]; next: string | null };

test('ids beyond what a JSON number can hold lose no digit, on the way out and back (R203)', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  await app.outbox.query(`select setval('notification_number', 9007199254740992)`);
  await app.outbox.query(`select setval(pg_get_serial_sequence('audit', 'number'), 7205759403792793600)`);
  for (const bizId of ['9007199254740993', '7205759403792793601']) {
    await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId });
  }
  const olga = await app.as('olga');
  const first = await olga.getJson<Page>('api/notifications?limit=1');
  expect(first.items).toMatchObject([{ bizId: '7205759403792793601' }]);
  expect(first.next).toMatch(/\.9007199254740994$/);
  const second = await olga.getJson<Page>(`api/notifications?limit=1&after=${first.next ?? ''}`);
  expect(second.items).toMatchObject([{ bizId: '9007199254740993' }]);
  expect((await olga.post(`api/notifications/${String(second.items[0]?.['id'])}/cancel`)).status).toBe(200);
  expect((await olga.getJson<Page>('api/audit')).items).toMatchObject([{ number: '7205759403792793601' }]);
});

test('the HTTP status, how it was judged and what comes next are told apart (R089)', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint({ status: 200, body: 'fail' });
  await app.outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  await app.outbox.sender.runOnce();
  const details = await (await app.as('ruth')).getJson<{ dueAt: string }>(`api/notifications/${id}`);
  expect(details).toMatchObject({
    state: 'pending',
    attemptLog: [
      { status: 200, outcome: 'refused', because: 'wrong-reply', hint: expect.stringContaining('fail') as string },
    ],
  });
  expect(new Date(details.dueAt).getTime()).toBeGreaterThan(Date.now());
});

test('what was wrong with an answer that no client could read is told in its own words (R095)', async () => {
  await using app = await consoleApp();
  await using endpoint = await scriptedEndpoint(
    rawReply('HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 7\r\n\r\nsuccess'),
  );
  await app.outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  await app.outbox.sender.runOnce();
  const details = await (await app.as('vera')).getJson<{ attemptLog: { error: string }[] }>(`api/notifications/${id}`);
  expect(details).toMatchObject({ attemptLog: [{ outcome: 'no-answer' }] });
  expect(details.attemptLog[0]?.error).toMatch(/content-length/i);
});

test('of a URL only origin and path are shown: a query may hold what is the merchant’s alone (R130)', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42', url: 'http://127.0.0.1:9999/notify?token=of-the-merchant' });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  const olga = await app.as('olga');
  for (const path of ['endpoints', 'endpoints/merchant-42', `notifications/${id}`]) {
    const text = await (await olga.get(`api/${path}`)).text();
    expect(text).toContain('http://127.0.0.1:9999/notify');
    expect(text).not.toContain('of-the-merchant');
  }
});

test.each([
  ['', "claimed_until = now() + interval '20 seconds'"],
  [', also where claims are counted over all workers', "due_at = now() + interval '20 seconds'"],
])(
  'one whose worker died shows as in flight until its lease is over, and as due after it%s (R158)',
  async (_, lease) => {
    await using app = await consoleApp();
    await app.outbox.putEndpoint({ id: 'merchant-42' });
    const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
    await app.outbox.query(`update outbox set claim_token = gen_random_uuid(), ${lease}`);
    const olga = await app.as('olga');
    expect(await olga.getJson(`api/notifications/${id}`)).toMatchObject({ state: 'pending', isClaimed: true });
    expect(await olga.getJson('api/overview')).toMatchObject({ stats: { inFlight: 1, due: 0 } });
    expect((await olga.post(`api/notifications/${id}/cancel`)).status).toBe(409);
    await app.outbox.age({ byMs: 20_001 });
    expect(await olga.getJson(`api/notifications/${id}`)).toMatchObject({ state: 'pending', isClaimed: false });
    expect(await olga.getJson('api/overview')).toMatchObject({ stats: { inFlight: 0, due: 1 } });
  },
);
