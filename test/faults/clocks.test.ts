import { parseVerifyingKey, verifyNotification } from '@bestnotify/protocol';
import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';
import { merchant } from './merchant.ts';

const event = { endpoint: 'merchant-42', ...paid };
const hour = 60 * 60 * 1000;
const numberOf = (bizId: string) => `number = (select number from notification where biz_id = '${bizId}')`;
const preload = new URL('../children/shift-clock.mjs', import.meta.url).href;

test.each([
  {
    what: 'an hour fast, in India, its sessions in New York',
    shiftMs: hour,
    zone: 'Asia/Kolkata',
    session: 'America/New_York',
  },
  {
    what: 'an hour slow, in New York, its sessions in Shanghai',
    shiftMs: -hour,
    zone: 'America/New_York',
    session: 'Asia/Shanghai',
  },
])(
  'a worker whose clock is $what sends and waits as any other (R145, R151, R163)',
  async ({ shiftMs, zone, session }) => {
    await using endpoint = await scriptedEndpoint(500);
    await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
    const secret = await outbox.putEndpoint({
      id: 'merchant-42',
      url: endpoint.url,
      policy: { gapsMs: [30 * 60_000] },
    });
    const database = new URL(requiredEnv('DATABASE_URL'));
    database.searchParams.set('TimeZone', session);
    await outbox.sender.notifyMany(['NOW', 'LATER', 'HELD'].map((bizId) => ({ ...event, bizId })));
    await outbox.query(`update outbox set due_at = now() + interval '30 minutes' where ${numberOf('LATER')}`);
    await outbox.query(
      `update outbox set claimed_until = now() + interval '20 minutes', claim_token = gen_random_uuid() where ${numberOf('HELD')}`, // somebody's lease
    );

    await using child = startChild('worker.mjs', {
      args: [JSON.stringify({ schema: outbox.schema, database: database.href })],
      env: { TZ: zone, SHIFT_MS: String(shiftMs), NODE_OPTIONS: `--import ${preload}` },
    });
    const started = new Date((await child.line(/^started/)).slice('started '.length));
    expect(Math.abs(started.getTime() - Date.now() - shiftMs)).toBeLessThan(60_000); // its clock really is off
    await child.line(/^attempt NOW/);

    const [request] = endpoint.requests;
    const { headers, body } = request ?? expect.fail();
    expect(verifyNotification({ headers, body, keys: [parseVerifyingKey(secret)], toleranceSeconds: 30 }).id).toMatch(
      /^ntf_/,
    );
    const { items } = await outbox.sender.operations.list();
    const dueInMs = (bizId: string) => (items.find((item) => item.bizId === bizId)?.dueAt.getTime() ?? 0) - Date.now();
    expect(dueInMs('NOW')).toBeGreaterThan(29 * 60_000);
    expect(dueInMs('NOW')).toBeLessThan(33.5 * 60_000);
    expect(dueInMs('LATER')).toBeGreaterThan(29 * 60_000);
    expect(endpoint.requests).toHaveLength(1);
    const { answer, effects } = merchant({ 'merchant-42': secret }); // the receiver itself, whose clock is right
    endpoint.script(answer);
    await outbox.query(`update outbox set due_at = now() where ${numberOf('NOW')}`);
    await child.line(/^delivered NOW handled/);
    expect(effects.get('NOW')).toBe(1);

    const now = items.find((item) => item.bizId === 'NOW') ?? expect.fail();
    const { attemptLog, settledAt } = await outbox.sender.operations.show(now.id);
    for (const moment of [settledAt, ...attemptLog.map((attempt) => attempt.startedAt)]) {
      expect(Math.abs((moment?.getTime() ?? 0) - Date.now())).toBeLessThan(60_000);
    }
    child.write('stop');
    await child.line(/^stopped/);
    await awaitUntil('it has ended', async () => (await child.ended).code === 0);
  },
);
