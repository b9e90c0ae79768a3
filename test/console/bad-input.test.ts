import { expect, test } from 'vitest';
import { paid } from '../sender/fresh-outbox.ts';
import { consoleApp } from './console-app.ts';

const unknownId = 'ntf_019b7892-1c00-7fff-bfff-ffffffffffff';

test('input that cannot be used is answered with a sentence, and changes nothing', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  const { id } = await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  const olga = await app.as('olga');
  const questions: [string, number][] = [
    [`api/notifications/${unknownId}`, 404],
    ['api/notifications/7', 404],
    ['api/notifications/%E0%A4%A', 404],
    ['api/notifications/ntf_%00', 400],
    [`api/notifications/${encodeURIComponent("ntf_' or 1=1 --")}`, 404],
    ['api/endpoints/nobody', 404],
    ['api/nothing', 404],
    ['api/notifications/a/b/c/d', 404],
    ['api/notifications?state=gone', 400],
    ['api/notifications?state=dead&state=pending', 400],
    ['api/notifications?stat=dead', 400],
    ['api/notifications?limit=0', 400],
    ['api/notifications?limit=201', 400],
    ['api/notifications?limit=1e2', 400],
    ['api/notifications?since=yesterday', 400],
    ['api/notifications?until=2027-13-45T00:00:00Z', 400],
    ['api/notifications?after=12', 400],
    ['api/notifications?after=abcdef12.1', 400],
    [`api/notifications?endpoint=${'x'.repeat(501)}`, 400],
    ['api/notifications?endpoint=%00', 400],
    ['api/notifications?__proto__=x', 400],
    ['api/overview?minutes=100000', 400],
    ['api/audit?notification=7', 404],
    ['api/audit?after=-1', 400],
    ['api/notifications?q=' + encodeURIComponent('订单 7'), 200], // nothing is called that
    ['api/notifications?q=order%207', 200],
  ];
  for (const [path, status] of questions) {
    const answer = await olga.get(path);
    expect([path, answer.status]).toEqual([path, status]);
    const body = (await answer.json()) as { message?: string };
    if (status >= 400) expect(body.message).toMatch(/\.$/);
  }
  const actions: [string, unknown, number][] = [
    [`notifications/${unknownId}/cancel`, {}, 404],
    [`notifications/${id}/cancel`, '{', 400],
    [`notifications/${id}/cancel`, '[]', 400],
    [`notifications/${id}/cancel`, 'null', 400],
    [`notifications/${id}/cancel`, { note: 7 }, 400],
    [`notifications/${id}/cancel`, { note: 'a\0b' }, 400],
    [`notifications/${id}/resend`, {}, 400],
    [`notifications/${id}/resend`, { seen: 'pending' }, 409],
    [`notifications/${id}/resend`, { seen: 'dead', url: 'javascript:alert(1)' }, 400],
    [`notifications/${id}/resend`, { seen: 'dead', acceptDuplicateEffect: 'yes' }, 400],
    [`notifications/${id}/close`, { note: ' ' }, 400],
    [`notifications/${id}/close`, { note: 'x' }, 409],
    ['endpoints/nobody/hold', {}, 404],
    ['endpoints/merchant-42/rotate-secret', { overlapHours: -1 }, 400],
    ['endpoints/merchant-42/rotate-secret', { secret: 'whsec_mine' }, 400],
    ['bulk-resend', {}, 400],
    ['bulk-resend', { filter: {} }, 400],
    ['bulk-resend', { filter: { state: 'pending' } }, 400],
    ['bulk-resend', { filter: { state: 'dead', ids: [] } }, 400],
    ['bulk-resend', { filter: { state: 'dead', endpoints: ['merchant-42'] } }, 400],
    ['bulk-resend', { filter: { state: 'dead' }, perSecond: 0 }, 400],
    ['bulk-resend', { filter: { state: 'dead' }, resume: '1' }, 400],
  ];
  for (const [path, body, status] of actions) {
    const answer = await olga.post(`api/${path}`, body);
    expect([path, body, answer.status]).toEqual([path, body, status]);
    expect(((await answer.json()) as { message: string }).message).not.toBe('');
  }
  expect(await app.outbox.sender.operations.show(id)).toMatchObject({ state: 'pending', round: 1 });
  expect((await app.outbox.sender.operations.audit()).items).toEqual([]);
  expect(app.errors).toEqual([]);
});

test('a body of 10 MB is refused without being kept', async () => {
  await using app = await consoleApp();
  const olga = await app.as('olga');
  const large = JSON.stringify({ note: 'x'.repeat(10 * 1024 * 1024) });
  expect((await olga.post('api/endpoints/x/hold', large)).status).toBe(413);
  const streamed = new ReadableStream({
    start: (controller) => {
      for (let each = 0; each < 10; each++) controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20));
      controller.close();
    },
  });
  const init = { body: streamed, duplex: 'half' } as RequestInit;
  expect((await olga.post('api/endpoints/x/hold', {}, init)).status).toBe(413);
});

test('a page goes on only with the filter that it began with', async () => {
  await using app = await consoleApp();
  await app.outbox.putEndpoint({ id: 'merchant-42' });
  for (const bizId of ['PAY1', 'PAY2', 'PAY3'])
    await app.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, bizId });
  const olga = await app.as('olga');
  type Page = { items: { bizId: string }[]; next: string | null };
  const first = await olga.getJson<Page>('api/notifications?limit=1&endpoint=merchant-42');
  expect(first.items.map(({ bizId }) => bizId)).toEqual(['PAY3']);
  const next = `limit=1&after=${first.next ?? ''}`;
  const second = await olga.getJson<Page>(`api/notifications?endpoint=merchant-42&${next}`);
  expect(second.items.map(({ bizId }) => bizId)).toEqual(['PAY2']);
  const other = await olga.get(`api/notifications?type=payment.success&${next}`);
  expect([other.status, await other.json()]).toMatchObject([
    400,
    { message: expect.stringContaining('another filter') as string },
  ]);
});

test('other methods are refused by name', async () => {
  await using app = await consoleApp();
  const olga = await app.as('olga');
  const put = await olga.get('api/session', { method: 'PUT' });
  expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET']);
  expect((await olga.get('api/bulk-resend')).status).toBe(405);
  expect((await olga.get('', { method: 'DELETE' })).status).toBe(405);
  const head = await olga.get('api/notifications', { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});
