import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { alertIn, openWindows, scene, webhook } from '../sender/alerts-fixtures.ts';

const [postgresql] = databases;
const kills = 8;
const perKill = 250;

test(
  `${kills} workers killed while ${kills * perKill} notifications die: the alerts count each of them, exactly once`,
  { timeout: 120_000 },
  async () => {
    await using it = await scene(() => postgresql!.open());
    await using ops = await scriptedEndpoint(200);
    // Short windows and constant looks: most kills hit a look, an alert that was just written, or one on its way.
    const alerts = { channels: { ops: webhook(ops.url) }, checkEveryMs: 10, windowMs: 1_000, longestWindowMs: 1_000 };
    const start = () =>
      startChild('worker.mjs', {
        args: [JSON.stringify({ schema: it.outbox.schema, alerts, maxInFlightPerEndpoint: 32, start: false })],
      });
    const died = async () =>
      (await it.outbox.query<{ n: number }>('select count(*)::int as n from outbox where state = 2'))[0]!.n;

    const queue = [start(), start()];
    for (let kill = 1; kill <= kills; kill += 1) {
      queue.push(start());
      const doomed = queue.shift()!;
      await it.kill(perKill, { from: kill * perKill });
      await openWindows(it.outbox);
      await doomed.line(/^ready/);
      doomed.write('start');
      const atLeast = (kill - 1) * perKill + 20 * kill; // at another place each time
      await awaitUntil('enough are dead', async () => (await died()) >= atLeast, { everyMs: 2, timeoutMs: 20_000 });
      await doomed.kill('SIGKILL');
      await it.outbox.age({ byMs: 31_000 }); // the claims it held are over
    }
    await Promise.all(queue.map((child) => child.kill()));

    const last = it.outbox.another({ alerts });
    const worker = last.startWorker({ minPollMs: 5, maxInFlightPerEndpoint: 32 });
    const told = () => {
      const byId = new Map(ops.requests.map((request) => [request.headers['webhook-id'], alertIn(request)]));
      return [...byId.values()].reduce((sum, { count }) => sum + count, 0);
    };
    await awaitUntil(
      'all are dead and told',
      async () => {
        await openWindows(it.outbox);
        return (await died()) === kills * perKill && told() >= kills * perKill;
      },
      { timeoutMs: 60_000, everyMs: 50 },
    );
    await worker.stop();

    expect(told()).toBe(kills * perKill);
    for (const request of ops.requests) {
      expect(alertIn(request)).toMatchObject({
        kind: 'dead',
        entries: [{ endpoint: 'merchant-42', reason: 'attempts-used-up' }],
      });
    }
  },
);
