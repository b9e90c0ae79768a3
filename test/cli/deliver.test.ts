import postgres from 'postgres';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { hang, scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { freshCommandLine, parseLines, type CommandLine } from './command-line.ts';
import { anyNumber, anyText } from './matchers.ts';

let cli: CommandLine | undefined;
beforeEach(async () => {
  await cli?.[Symbol.asyncDispose]();
  cli = await freshCommandLine();
});
afterAll(() => cli?.[Symbol.asyncDispose]());

/** Adds notifications for one endpoint. */
async function enqueue(endpoint: string, url: string, { count = 1, maxAttempts = 5 } = {}): Promise<string[]> {
  await cli!.outbox.putEndpoint({ id: endpoint, url, maxAttempts });
  const inputs = Array.from({ length: count }, (_, n) => ({ ...paid, endpoint, bizId: `PAY${n}` }));
  return (await cli!.outbox.sender.notifyMany(inputs)).map(({ id }) => id);
}

const empty = { claimed: 0, delivered: 0, retrying: 0, dead: 0, returned: 0, lost: 0 };

test('process ends with 0 when all was delivered, and when nothing is due', async () => {
  await using merchant = await scriptedEndpoint(200);
  await enqueue('m1', merchant.url, { count: 3 });
  expect(await cli!.lines(['process', '--limit', '2'])).toEqual([{ ...empty, claimed: 2, delivered: 2 }]);
  expect(await cli!.lines(['process'])).toEqual([{ ...empty, claimed: 1, delivered: 1 }]);
  expect(await cli!.lines(['process'])).toEqual([empty]);
});

test('process ends with 2 when something is retried, with 3 when something died, with 1 on an error', async () => {
  await using merchant = await scriptedEndpoint(500);
  await enqueue('retried', merchant.url);
  const retried = await cli!.run(['process', '--json']);
  expect([retried.code, parseLines(retried.stdout)]).toEqual([2, [{ ...empty, claimed: 1, retrying: 1 }]]);
  await enqueue('dying', merchant.url, { maxAttempts: 1 });
  const died = await cli!.run(['process', '--json']);
  expect([died.code, parseLines(died.stdout)]).toEqual([3, [{ ...empty, claimed: 1, dead: 1 }]]);
  expect((await cli!.run(['process', '--schema', 'nowhere'])).code).toBe(1);
});

test('two passes of cron at once send nothing twice', async () => {
  await using merchant = await scriptedEndpoint({ status: 200, delayMs: 20 });
  const ids = await enqueue('m1', merchant.url, { count: 120 });
  const passes = await Promise.all([1, 2].map(() => cli!.run(['process', '--limit', '200', '--json'])));
  expect(passes.map(({ code }) => code)).toEqual([0, 0]);
  const sums = passes.flatMap(({ stdout }) => parseLines(stdout));
  expect(Number(sums[0]?.['delivered']) + Number(sums[1]?.['delivered'])).toBe(120);
  expect(merchant.requests.map(({ headers }) => headers['webhook-id']).sort()).toEqual([...ids].sort());
});

test('process that is interrupted aborts what is in flight, uncharged, and ends with the code of the signal', async () => {
  await using merchant = await scriptedEndpoint(hang);
  const [id = ''] = await enqueue('m1', merchant.url);
  await using pass = cli!.start(['process', '--json']);
  await merchant.received(1);
  pass.child.kill('SIGTERM');
  const { code, stdout } = await pass.ended;
  const [{ claimed, returned, ...others } = {}] = parseLines(stdout);
  expect([code, others]).toEqual([143, { delivered: 0, retrying: 1, dead: 0, lost: 0 }]);
  expect(Number(claimed) - Number(returned)).toBe(1); // a claim under way meanwhile may have met it again
  expect(await cli!.lines(['show', id])).toMatchObject([{ state: 'pending', attempts: 0, isClaimed: false }]);
});

test('work delivers, serves health and metrics, and stops with 0 at the first signal', async () => {
  await using merchant = await scriptedEndpoint(200);
  await enqueue('m1', merchant.url, { count: 2 });
  await using worker = cli!.start(['work', '--health-port', '0', '--verbose', '--json']);
  const [, port] = await worker.says(/"healthPort":(\d+)/);
  await merchant.received(2);
  const health = await awaitUntil('the worker is healthy', async () => {
    const response = await fetch(`http://127.0.0.1:${port}/health`);
    return response.ok && ((await response.json()) as Record<string, unknown>);
  });
  expect(health).toMatchObject({
    status: 'ok',
    source: 'acme-pay',
    inFlight: anyNumber,
    due: anyNumber,
    dead: 0,
  });
  const metrics = await awaitUntil('both are counted', async () => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return (
      text.includes('bestnotify_worker_delivered_total{source="acme-pay"} 2\n') &&
      /^bestnotify_outbox_oldest_due_seconds\{source="acme-pay"\} 0$/m.test(text) &&
      text
    );
  });
  expect(metrics).toContain('# TYPE bestnotify_worker_attempts_total counter\n');
  expect(metrics).toContain('bestnotify_worker_attempts_total{source="acme-pay",outcome="acknowledged"} 2\n');
  expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
  worker.child.kill('SIGTERM');
  const { code, stdout } = await worker.ended;
  expect(code).toBe(0);
  const events = parseLines(stdout).map(({ event }) => event);
  expect(events.slice(0, 1).concat(events.slice(-2))).toEqual(['started', 'stopping', 'stopped']);
  expect(events.filter((event) => event === 'delivered')).toHaveLength(2);
});

test('the first signal waits for what is in flight, the second ends at once', async () => {
  await using merchant = await scriptedEndpoint(hang);
  await enqueue('m1', merchant.url);
  await using worker = cli!.start(['work']);
  await merchant.received(1);
  worker.child.kill('SIGINT');
  await worker.says(/stopping: 1 in flight/);
  expect(worker.child.exitCode).toBeNull();
  worker.child.kill('SIGINT');
  expect(await worker.ended).toMatchObject({ code: 130 });
});

test('after its grace a worker aborts what is in flight, uncharged, and ends with 0', async () => {
  await using merchant = await scriptedEndpoint(hang);
  const [id = ''] = await enqueue('m1', merchant.url);
  await using worker = cli!.start(['work', '--grace-ms', '50']);
  await merchant.received(1);
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
  expect(await cli!.lines(['show', id])).toMatchObject([{ state: 'pending', attempts: 0, isClaimed: false }]);
});

test('a resend by filter takes what is dead now, not what failed and was delivered later (R196)', async () => {
  await using merchant = await scriptedEndpoint(500, 500, 200);
  const [recovered = ''] = await enqueue('m1', merchant.url);
  for (let n = 0; n < 3; n++) {
    await cli!.outbox.sender.operations.sendNow(recovered);
    await cli!.outbox.sender.runOnce();
  }
  merchant.script(500);
  const [dead = ''] = await enqueue('m2', merchant.url, { maxAttempts: 1 });
  await cli!.outbox.sender.runOnce();
  expect(await cli!.lines(['resend', '--since', '1h', '--dry-run'])).toEqual([
    { dryRun: true, run: null, matched: 1, resent: 0, skipped: 0, isFinished: true },
  ]);
  expect(await cli!.lines(['show', dead])).toMatchObject([{ state: 'dead', round: 1 }]);
  const [resent] = await cli!.lines(['resend', '--since', '1h', '--actor', 'wang']);
  expect(resent).toMatchObject({ dryRun: false, run: anyText, matched: 1, resent: 1, skipped: 0 });
  expect(await cli!.lines(['show', dead])).toMatchObject([{ state: 'pending', round: 2 }]);
  expect(await cli!.lines(['show', recovered])).toMatchObject([{ state: 'delivered', round: 1 }]);
  expect(await cli!.lines(['resend', '--since', '1h'])).toMatchObject([{ matched: 0, resent: 0 }]);
  expect(await cli!.lines(['audit', '--limit', '500'])).toContainEqual(
    expect.objectContaining({ actor: 'wang', action: 'resend-many' }),
  );
});

test('a resend says how far it is, and what was interrupted goes on with --resume', async () => {
  await using merchant = await scriptedEndpoint(500);
  await enqueue('m1', merchant.url, { count: 1200 });
  await cli!.outbox.query(`update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up'`);
  const signal = await interruptedRun();
  expect(signal.code).toBe(130);
  const [first] = parseLines(signal.stdout);
  expect(first).toMatchObject({ isFinished: false });
  expect(signal.stderr).toMatch(/\d+ of 1200 resent, run \d+/);
  const run = first?.['run'] as string;
  expect(signal.stderr).toContain(`bestnotify resend --resume ${run}`);
  const [rest] = await cli!.lines(['resend', '--resume', run]);
  expect(rest).toMatchObject({ run, resent: 1200, isFinished: true });
  expect((await cli!.run(['resend', '--resume', run])).code).toBe(1);

  // A lock on a row of the second batch keeps that batch waiting until the signal has come.
  async function interruptedRun() {
    await using resend = cli!.start(['resend', '--endpoint', 'm1', '--json']);
    const sql = postgres(cli!.env['DATABASE_URL']!, { max: 1 });
    try {
      await sql.begin(async (tx) => {
        const outbox = tx(`${cli!.outbox.schema}.outbox`);
        // Not with the offset in the same statement: rows that it skips are locked as well.
        await tx`select 1 from ${outbox}
          where number = (select number from ${outbox} order by number offset 700 limit 1) for update`;
        await resend.says(/500 of 1200/);
        resend.child.kill('SIGINT');
      });
    } finally {
      await sql.end();
    }
    return await resend.ended;
  }
});

test('ways to choose that exclude each other are refused, and so is none at all', async () => {
  const id = 'ntf_019b7892-1c00-7fff-bfff-ffffffffffff';
  for (const args of [
    [],
    [id, '--endpoint', 'm1'],
    ['--resume', '1', '--type', 'x'],
    [id, '--dry-run'],
    ['--type', 'x', '--url', 'https://x.example'],
  ]) {
    const { code, stderr } = await cli!.run(['resend', ...args, '--json']);
    expect([args, code, parseLines(stderr)]).toMatchObject([args, 1, [{ error: { code: 'CLI_USAGE' } }]]);
  }
});
