import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, expect, test } from 'vitest';
import { createDeliverer } from '../../packages/sender/src/worker/deliver.js';
import { awaitUntil } from '../fixtures/await-until.js';
import { poisonReplies } from './poison-replies.js';
import { refusals } from './refusals.js';
import { startTorture, type TortureServer } from './torture-server.js';
import { wellMeantReplies } from './well-meant-replies.js';

/** BESTNOTIFY_TORTURE_ATTEMPTS=10000 for the long form. */
const attempts = Number(process.env['BESTNOTIFY_TORTURE_ATTEMPTS'] ?? 1000);
const atOnce = 16;
const behaviours = [...wellMeantReplies, ...refusals, ...poisonReplies].filter(({ isSlow }) => isSlow !== true);
const deliverer = createDeliverer({ requestTimeoutMs: 2000, allowPrivateNetwork: ['127.0.0.1/32'] });
const servers: TortureServer[] = [];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

afterAll(async () => {
  await deliverer.close();
  await Promise.all(servers.map((server) => server.close()));
});

/** Every behaviour in turn, `atOnce` requests at a time. */
async function run(count: number): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const index = next++ % behaviours.length;
      const outcome = await deliverer.deliver({
        url: `http://127.0.0.1:${servers[index]!.port}/`,
        headers: {},
        body: Buffer.alloc(behaviours[index]!.bodyBytes ?? 100, 'x'),
        allowHttp: true,
        allowPrivateNetwork: ['127.0.0.1/32'],
        tls: undefined,
      });
      if (outcome.kind === 'aborted' || outcome.kind === 'internal') throw new Error(JSON.stringify(outcome));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

function usage() {
  collectGarbage();
  return {
    heapMiB: (process.memoryUsage().heapUsed + process.memoryUsage().external) / 2 ** 20,
    sockets: process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length,
    timers: process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length,
  };
}

test('R110 memory, sockets and timers stay flat over many poison replies', { timeout: 300_000 }, async () => {
  servers.push(...(await Promise.all(behaviours.map(startTorture))));
  await run(behaviours.length * 2); // everything that is made once has been made
  const before = usage();
  await run(attempts);
  // Buffers of the last floods are freed a little later, and not all in one collection.
  const after = await awaitUntil('memory is what it was', () => {
    const now = usage();
    return now.heapMiB - before.heapMiB < 8 && now;
  });
  if (process.env['BESTNOTIFY_TORTURE_ATTEMPTS'] !== undefined)
    console.log(JSON.stringify({ attempts, before, after }));
  expect(after.sockets).toBeLessThan(2 * 2 * behaviours.length); // both ends live here, and idle ones are kept for seconds
  expect(after.timers - before.timers).toBeLessThan(atOnce * 4);
});
