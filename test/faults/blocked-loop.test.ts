import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';

test('a worker whose event loop was blocked for longer than its lease settles nothing that another has taken over (R148)', async () => {
  let letGo: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (letGo = resolve));
  await using endpoint = await scriptedEndpoint(async (_request, response) => {
    await answered;
    response.writeHead(500).end('fail'); // what the blocked one would write down, were it allowed to
  }, 200);
  await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
  await outbox.putEndpoint({ id: 'merchant-42', url: endpoint.url });
  const { id } = await outbox.sender.notify({ endpoint: 'merchant-42', ...paid });
  const lease = { leaseMs: 1_000, requestTimeoutMs: 600 };
  await using blocked = startChild('worker.mjs', { args: [JSON.stringify({ schema: outbox.schema, ...lease })] });
  await endpoint.received(1, 20_000);

  blocked.write('block 3000');
  await blocked.line(/^blocked/);
  letGo();
  await awaitUntil('another worker has taken over', async () => (await outbox.sender.runOnce()).delivered === 1);
  const delivered = await outbox.sender.operations.show(id);
  await blocked.line(/^unblocked/);
  await blocked.line(/^lost PAY1/);

  expect(await outbox.sender.operations.show(id)).toEqual(delivered);
  expect(delivered).toMatchObject({
    state: 'delivered',
    attempts: 1,
    attemptLog: [{ ordinal: 1, outcome: 'acknowledged' }],
  });
  blocked.write('stop');
  expect(await blocked.line(/^stopped/)).toMatch(/"claimed":1,.*"lost":1/);
  expect(endpoint.requests).toHaveLength(2);
});
