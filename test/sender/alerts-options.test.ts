import { createSender, isSenderError, type AlertsOptions, type SenderOptions } from '@bestnotify/sender';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import { describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { alertsTo, opsSecret, webhook } from './alerts-fixtures.ts';
import { freshOutbox, source } from './fresh-outbox.ts';

const token = 'T0KEN-which-nobody-may-see-4711';

function refusal(
  alerts: unknown,
  more: Partial<SenderOptions> = {},
): { code: string; option: string; message: string } {
  try {
    createSender({ source, database: 'postgres://localhost/none', alerts: alerts as AlertsOptions, ...more });
  } catch (error) {
    if (isSenderError(error)) return error as unknown as { code: string; option: string; message: string };
    throw error;
  }
  throw new Error('It was accepted.');
}

const channel = (given: object) => ({ channels: { a: given } });
const email = { smtp: 'smtps://user:password@mail.example:465', from: 'alerts@acme.example' };

const bad: [option: string, alerts: unknown][] = [
  ['alerts.windowMs', { windowMs: 10 }],
  ['alerts.windowMs', { windowMs: Number.NaN }],
  ['alerts.longestWindowMs', { windowMs: 60_000, longestWindowMs: 59_999 }],
  ['alerts.overdueMs', { overdueMs: 0 }],
  ['alerts.checkEveryMs', { checkEveryMs: 9 }],
  ['alerts.policy', { policy: 'none' }],
  ['alerts.locale', { locale: 'fr' }],
  ['alerts.kinds', { kinds: ['dead', 'alive'] }],
  ['alerts.channels', { channels: { 'a b': { kind: 'slack', url: 'https://hooks.example/x' } } }],
  ['alerts.channels', { channels: { 'contact:merchant': { kind: 'slack', url: 'https://hooks.example/x' } } }],
  ['alerts.channels.a', channel({ kind: 'pager' })],
  ['alerts.channels.a', { channels: { a: null } }],
  ['alerts.channels.a.url', channel({ kind: 'slack' })],
  ['alerts.channels.a.url', channel({ kind: 'slack', url: `http://hooks.example/${token}` })],
  ['alerts.channels.a.url', channel({ kind: 'dingtalk', url: `https://10.0.0.1/robot?access_token=${token}` })],
  ['alerts.channels.a.url', channel({ kind: 'wecom', url: `https://user:${token}@hooks.example/` })],
  ['alerts.channels.a.locale', channel({ kind: 'slack', url: 'https://hooks.example/x', locale: 'de' })],
  ['alerts.channels.a.secret', channel({ kind: 'webhook', url: 'https://hooks.example/x' })],
  ['alerts.channels.a.secret', channel({ kind: 'webhook', url: 'https://hooks.example/x', secret: `whsec_${token}` })],
  ['alerts.channels.a.secret', channel({ kind: 'feishu', url: 'https://hooks.example/x', secret: `${token} ` })],
  [
    'alerts.channels.a.ack',
    channel({ kind: 'webhook', url: 'https://hooks.example/x', secret: opsSecret, ack: 'fine' }),
  ],
  ['alerts.channels.a.send', channel({ kind: 'function' })],
  ['alerts.email', channel({ kind: 'email', to: 'ops@acme.example' })],
  ['alerts.channels.a.to', { email, ...channel({ kind: 'email', to: 'ops@acme.example, all@acme.example' }) }],
  ['alerts.channels.a.to', { email, ...channel({ kind: 'email', to: 'ops@acme.example\r\nBcc: all@acme.example' }) }],
  ['alerts.channels.a.to', { email, ...channel({ kind: 'email', to: [] }) }],
  ['alerts.email.smtp', { email: { ...email, smtp: `https://user:${token}@mail.example` } }],
  ['alerts.email.from', { email: { ...email, from: 'nobody' } }],
  ['alerts.heartbeat.url', { heartbeat: { url: `http://hc.example/${token}` } }],
  ['alerts.heartbeat.everyMs', { heartbeat: { url: 'https://hc.example/x', everyMs: 0 } }],
];

test.each(bad)('%s that cannot work is refused by name, and no secret is repeated: %j', (option, alerts) => {
  const { code, option: named, message } = refusal(alerts);
  expect({ code, option: named }).toEqual({ code: 'SENDER_CONFIGURATION', option });
  expect(message).not.toContain(token);
});

test('what giving up means is compensate or abandon', () => {
  const types = { 'points.changed': { giveUp: 'forget' as 'abandon' } };
  expect(refusal({}, { types })).toMatchObject({ option: 'types.points.changed.giveUp' });
});

test('everything left out is fine', async () => {
  await createSender({ source, database: 'postgres://localhost/none', alerts: {} }).close();
});

describe.each(databases)('on $name', ({ open }) => {
  test('a contact that cannot work is refused before anything is stored', async () => {
    await using outbox = await freshOutbox(open, alertsTo({}));
    const put = (contact: unknown) =>
      outbox.sender.endpoints.put({
        id: 'm',
        url: 'https://shop.example/',
        secrets: [opsSecret],
        contact: contact as never,
      });
    await expect(put({ kind: 'email', to: 'a@b, c@d' })).rejects.toMatchObject({ option: 'contact.to' });
    await expect(put({ kind: 'slack', url: `https://192.168.0.1/${token}` })).rejects.toMatchObject({
      option: 'contact.url',
    });
    await expect(put({ kind: 'function', send: () => undefined })).rejects.toMatchObject({ option: 'contact' });
    expect(await outbox.sender.endpoints.list()).toEqual([]);
  });

  test('a removed endpoint takes its contact with it', async () => {
    await using outbox = await freshOutbox(open, alertsTo({}));
    const contact = { kind: 'slack', url: 'https://hooks.example/x' } as const;
    await outbox.sender.endpoints.put({ id: 'm', url: 'https://shop.example/', secrets: [opsSecret], contact });
    expect(await outbox.query('select id from endpoint order by id')).toEqual([{ id: 'contact:m' }, { id: 'm' }]);
    await outbox.sender.endpoints.put({ id: 'm', url: 'https://shop.example/new' });
    expect(await outbox.query('select id from endpoint')).toHaveLength(2);
    await outbox.sender.endpoints.remove('m');
    expect(await outbox.query('select id from endpoint')).toEqual([]);
  });

  test('with secrets from a KMS alerts go out all the same, and it is never asked for theirs', async () => {
    await using ops = await scriptedEndpoint(200);
    await using merchant = await scriptedEndpoint(404);
    const asked: string[] = [];
    const resolve = (endpoint: string) => {
      asked.push(endpoint);
      return Promise.resolve([opsSecret]);
    };
    await using outbox = await freshOutbox(open, {
      ...alertsTo({ ops: webhook(ops.url) }),
      secretStorage: { resolve, keys: [{ id: 'k', key: Buffer.alloc(32, 2).toString('base64') }] },
    });
    await outbox.sender.endpoints.put({ id: 'm', url: merchant.url, allowHttp: true, allowPrivateNetwork: true });
    await outbox.sender.notify({ endpoint: 'm', type: 't', bizId: '1', data: {}, maxAttempts: 1 });
    await outbox.sender.runOnce();
    await outbox.sender.runOnce();
    expect(ops.requests).toHaveLength(1);
    expect(new Set(asked)).toEqual(new Set(['m']));
  });

  test('the heartbeat is POSTed while the outbox answers, and stops when it does not', async () => {
    await using watcher = await scriptedEndpoint(200);
    const heartbeat = { url: `${watcher.url}/${token}`, everyMs: 20, allowHttp: true, allowPrivateNetwork: true };
    await using outbox = await freshOutbox(open, alertsTo({}, { heartbeat }));
    const errors: { during: string; error: unknown }[] = [];
    outbox.sender.on('error', (event) => errors.push(event));
    const worker = outbox.sender.startWorker();
    await watcher.received(3);
    expect(watcher.requests[0]).toMatchObject({ method: 'POST', path: `/notify/${token}` });

    await outbox.query('alter table outbox rename to away');
    await awaitUntil('it has noticed', () => errors.some(({ during }) => during === 'heartbeat'));
    const beats = watcher.requests.length;
    const failures = () => errors.filter(({ during }) => during === 'heartbeat').length;
    const before = failures();
    await awaitUntil('it has not beaten three times', () => failures() >= before + 3);
    expect(watcher.requests.length - beats).toBeLessThanOrEqual(1); // one may have been under way

    await outbox.query('alter table away rename to outbox');
    watcher.script(500);
    await awaitUntil('an answer of 500 is told', () =>
      errors.some(({ error }) => error instanceof Error && error.message.includes('it answered 500')),
    );
    await worker.stop();
    expect(errors.map(({ error }) => String(error)).join('\n')).not.toContain(token);
  });

  test('a test send to a channel arrives in its own format', async () => {
    await using robot = await scriptedEndpoint({ body: 'ok' });
    const chat = { kind: 'slack', url: robot.url, allowHttp: true, allowPrivateNetwork: true } as const;
    await using outbox = await freshOutbox(open, alertsTo({ chat }));
    await outbox.sender.runOnce();
    const alerts = outbox.another({ source: `bestnotify-alerts:${source}`, alerts: undefined as never });
    const id = await alerts.operations.testSend('chat');
    await outbox.sender.runOnce();
    expect(await alerts.operations.show(id)).toMatchObject({ state: 'delivered' });
    expect(robot.requests[0]!.body.toString()).toContain('This is a test. Nothing has happened.');
  });
});
