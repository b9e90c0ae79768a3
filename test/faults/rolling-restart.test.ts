import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild, type Child } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';

const workerCount = 4;
const rounds = 3;
const endpoints = 8;
const answerAfterMs = 30;

/** What a worker says at its end. */
interface Stopped {
  claimed: number;
  delivered: number;
  lost: number;
}

/** SIGTERM, as a deploy does it: the worker stops claiming, finishes what is in flight and ends with 0. */
async function terminate(worker: Child): Promise<Stopped> {
  const end = await worker.kill('SIGTERM');
  expect(end, worker.stderr).toEqual({ code: 0, signal: null });
  const line = worker.lines.find((each) => each.startsWith('stopped ')) ?? expect.fail(worker.stderr);
  return JSON.parse(line.slice('stopped '.length)) as Stopped;
}

test(
  'four workers under load, each stopped and replaced in turn, three times: nothing is lost, sent twice or charged by a stop (R152)',
  { timeout: 180_000 },
  async () => {
    const sent = new Map<string, number>();
    await using endpoint = await scriptedEndpoint(async (request, response) => {
      const { to, bizId } = JSON.parse(request.body.toString()) as { to: string; bizId: string };
      sent.set(`${to} ${bizId}`, (sent.get(`${to} ${bizId}`) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, answerAfterMs)); // so that a stop meets requests in flight
      response.end('success');
    });
    await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
    for (let n = 0; n < endpoints; n += 1) await outbox.putEndpoint({ id: `m${n}`, url: endpoint.url });
    let enqueued = 0;
    const enqueue = async (count: number) => {
      const from = enqueued;
      enqueued += count;
      await outbox.sender.notifyMany(
        Array.from({ length: count }, (_, n) => ({ endpoint: `m${n % endpoints}`, ...paid, bizId: `PAY${from + n}` })),
      );
    };
    const start = (isWaiting: boolean) => {
      const options = { schema: outbox.schema, concurrency: 8, prefetch: 50, start: !isWaiting };
      return startChild('worker.mjs', { args: [JSON.stringify(options)] });
    };
    const workers = Array.from({ length: workerCount }, () => start(true));
    for (const worker of workers) await worker.line(/^ready/);
    await enqueue(400);
    for (const worker of workers) worker.write('start');
    const summaries: Stopped[] = [];

    for (let round = 0; round < rounds; round += 1) {
      for (let place = 0; place < workerCount; place += 1) {
        const replacement = start(true); // the start of a process is what takes time here
        await replacement.line(/^ready/);
        const doomed = workers[place] ?? expect.fail();
        await enqueue(100);
        await endpoint.received(endpoint.requests.length + 20, 20_000); // under load
        const ended = terminate(doomed);
        replacement.write('start');
        summaries.push(await ended);
        workers[place] = replacement;
      }
    }
    await awaitUntil(
      'everything is settled',
      async () => {
        const rows = await outbox.query('select 1 from outbox where state = 0 limit 1');
        return rows.length === 0;
      },
      { timeoutMs: 60_000, everyMs: 50 },
    );
    for (const worker of workers) summaries.push(await terminate(worker));

    const [row] = await outbox.query(
      `select count(*)::int as rows, count(*) filter (where state = 1)::int as delivered, sum(attempts)::int as attempts,
              sum(lost_claims)::int as "lostClaims", (select count(*)::int from attempt) as "attemptLog" from outbox`,
    );
    expect(row).toEqual({
      rows: enqueued,
      delivered: enqueued,
      attempts: enqueued,
      lostClaims: 0,
      attemptLog: enqueued,
    });
    expect(sent.size).toBe(enqueued);
    expect(new Set(sent.values())).toEqual(new Set([1]));
    expect(summaries.reduce((sum, { delivered }) => sum + delivered, 0)).toBe(enqueued);
    expect(summaries.reduce((sum, { lost }) => sum + lost, 0)).toBe(0);
    // Else the stops met nobody at work.
    expect(summaries.slice(0, -workerCount).filter(({ delivered }) => delivered > 0).length).toBeGreaterThan(
      workerCount,
    );
  },
);

test('a stop whose grace is shorter than a reply gives its rows back uncharged, and the next worker sends them at once', async () => {
  const held: (() => void)[] = [];
  await using endpoint = await scriptedEndpoint((_request, response) => {
    held.push(() => response.end('success')); // answered when it is too late
  });
  await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
  await outbox.putEndpoint({ id: 'm', url: endpoint.url, maxInFlight: 4 });
  await outbox.sender.notifyMany([0, 1, 2, 3].map((n) => ({ endpoint: 'm', ...paid, bizId: `PAY${n}` })));
  const options = { schema: outbox.schema, concurrency: 4, graceMs: 100 };
  await using worker = startChild('worker.mjs', { args: [JSON.stringify(options)] });
  await endpoint.received(4, 20_000);

  const { delivered, lost } = await terminate(worker);
  for (const answer of held) answer();
  expect({ delivered, lost }).toEqual({ delivered: 0, lost: 0 });
  const pending = await outbox.query(
    `select attempts, lost_claims, claim_token, due_at <= now() as due, may_have_arrived as arrived from outbox`,
  );
  expect(pending).toEqual(
    Array.from({ length: 4 }, () => ({ attempts: 0, lost_claims: 0, claim_token: null, due: true, arrived: true })),
  );
  endpoint.script(200);
  expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 4, delivered: 4 });
  expect((await outbox.sender.operations.list()).items.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1]);
});
