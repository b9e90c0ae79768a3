import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { hang, scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, type Outbox } from '../sender/fresh-outbox.ts';
import { merchant } from './merchant.ts';

const event = { endpoint: 'merchant-42', ...paid };
const [postgresql] = databases;
const open = () => postgresql?.open() ?? expect.fail();

const startWorker = ({ schema }: Outbox, options: object = {}) =>
  startChild('worker.mjs', { args: [JSON.stringify({ schema, ...options })] });

async function heldRows({ query }: Outbox): Promise<number> {
  const [row] = await query<{ held: number }>(
    'select count(claim_token)::int as held from outbox where claimed_until > now()',
  );
  return row?.held ?? 0;
}

test('a worker killed in the middle of its requests and with a full prefetch: all is sent again after the lease, and takes effect once (R137, R158)', async () => {
  await using outbox = await freshOutbox(open);
  await using endpoint = await scriptedEndpoint(hang);
  const secret = await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, maxInFlight: 100 });
  const { answer, handleInSilence, effects } = merchant({ 'merchant-42': secret });
  const count = 24;
  await outbox.sender.notifyMany(Array.from({ length: count }, (_, n) => ({ ...event, bizId: `PAY${n}` })));
  // Of the eight in flight, four are handled without an answer, and four not even that.
  endpoint.script(handleInSilence, handleInSilence, handleInSilence, handleInSilence, hang);
  const doomed = startWorker(outbox, { concurrency: 8, prefetch: 100 });
  await endpoint.received(8, 20_000);
  await awaitUntil('it holds more than it sends', async () => (await heldRows(outbox)) > 8);
  const held = await heldRows(outbox);

  await doomed.kill('SIGKILL');

  endpoint.script(answer);
  expect(await outbox.sender.runOnce()).toMatchObject({ claimed: count - held, delivered: count - held }); // none of those under a lease
  await outbox.age({ byMs: 10_000 });
  expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
  await outbox.age({ byMs: 30_000 });
  expect(await outbox.sender.runOnce()).toMatchObject({ claimed: held, delivered: held, lost: 0 });

  const { items } = await outbox.sender.operations.list({ limit: 500 });
  expect(items).toHaveLength(count);
  for (const item of items) expect(item).toMatchObject({ state: 'delivered', attempts: 1, lostClaims: 0 }); // nothing was charged
  expect(items.filter((item) => item.reason === 'duplicate')).toHaveLength(4);
  expect(items.filter((item) => item.reason === 'handled')).toHaveLength(count - 4);
  expect([...effects.values()]).toEqual(Array.from({ length: count }, () => 1));
  expect(endpoint.requests).toHaveLength(count + 8);
});

test('twenty-five kills in a row under a policy of five attempts make nothing dead', { timeout: 120_000 }, async () => {
  await using outbox = await freshOutbox(open);
  await using endpoint = await scriptedEndpoint(hang);
  const secret = await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url, policy: 'article' });
  const { answer, effects } = merchant({ 'merchant-42': secret });
  const { id } = await outbox.sender.notify(event);
  const alerts: number[] = [];
  outbox.sender.on('claimsLost', ({ lostClaims }) => alerts.push(lostClaims));

  // Started two ahead: the start of a process is what takes time here.
  const queue = [0, 1].map(() => startWorker(outbox, { start: false }));
  for (let kill = 1; kill <= 25; kill += 1) {
    queue.push(startWorker(outbox, { start: false }));
    const doomed = queue.shift() ?? expect.fail();
    await doomed.line(/^ready/);
    doomed.write('start');
    await endpoint.received(kill, 20_000);
    await doomed.kill('SIGKILL');
    expect(await outbox.sender.operations.show(id)).toMatchObject({
      state: 'pending',
      attempts: 0,
      lostClaims: kill - 1,
    });
    await outbox.age({ byMs: (await outbox.dueInMs()) + 1 });
  }
  await Promise.all(queue.map((child) => child.kill()));

  endpoint.script(answer);
  expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 1, delivered: 1 });
  expect(await outbox.sender.operations.show(id)).toMatchObject({ state: 'delivered', attempts: 1 });
  expect(alerts).toEqual([25]);
  expect(effects.get('PAY1')).toBe(1);
});

test(
  'workers killed at random moments and replaced lose nothing, and every effect happens once',
  { timeout: 120_000 },
  async () => {
    await using outbox = await freshOutbox(open);
    await using endpoint = await scriptedEndpoint(hang);
    const ids = ['a', 'b', 'c', 'd'];
    const secrets: Record<string, string> = {};
    for (const id of ids) secrets[id] = await outbox.putEndpoint({ id, url: endpoint.url, maxInFlight: 4 });
    const { answer, effects } = merchant(secrets);
    endpoint.script(async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 20)); // so that a kill meets it in the middle
      await answer(request, response);
    });
    const count = 240;
    const lease = { leaseMs: 1_500, requestTimeoutMs: 700, concurrency: 8 };

    let doomed = startWorker(outbox, lease);
    for (let wave = 0; wave < 6; wave += 1) {
      await outbox.sender.notifyMany(
        Array.from({ length: count / 6 }, (_, n) => ({ ...event, endpoint: ids[n % 4] ?? '', bizId: `W${wave}N${n}` })),
      );
      await endpoint.received(wave * 40 + 5 + ((wave * 7) % 20), 20_000);
      await doomed.kill('SIGKILL');
      await outbox.age({ byMs: 120_000 }); // nobody holds anything now, and a row that lost claims would wait long
      doomed = startWorker(outbox, lease);
    }
    await awaitUntil(
      'everything is delivered',
      async () => {
        const [row] = await outbox.query<{ delivered: number }>(
          'select count(*)::int as delivered from outbox where state = 1',
        );
        return row?.delivered === count;
      },
      { timeoutMs: 60_000, everyMs: 100 },
    );
    doomed.write('stop');
    expect(await doomed.line(/^stopped/)).toContain('"dead":0');

    expect(effects.size).toBe(count);
    expect(new Set(effects.values())).toEqual(new Set([1]));
  },
);
