import { Client } from 'pg';
import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, paid } from '../sender/fresh-outbox.ts';

const count = 2_000;
const perSecond = 500;

test(
  'a bulk resend of 2,000 whose process is killed in the middle of a batch goes on in another one: each is resent once, at the pace of the run',
  { timeout: 60_000 },
  async () => {
    await using outbox = await freshOutbox(() => databases[0]?.open() ?? expect.fail());
    await outbox.putEndpoint({ id: 'm' });
    await outbox.sender.notifyMany(
      Array.from({ length: count }, (_, n) => ({ endpoint: 'm', ...paid, bizId: `PAY${n}` })),
    );
    await outbox.query("update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up', attempts = 8");
    // Somebody has a row of the third batch: that is where the kill meets the run.
    const somebody = new Client({ connectionString: requiredEnv('DATABASE_URL') });
    await somebody.connect();
    await somebody.query('begin');
    await somebody.query(
      `select 1 from ${outbox.schema}.outbox where number = (select min(number) + 1200 from ${outbox.schema}.outbox) for update`,
    );
    const doomed = startChild('worker.mjs', {
      args: [JSON.stringify({ schema: outbox.schema, start: false, postgres: { queryTimeoutMs: 60_000 } })],
    });
    await doomed.line(/^ready/);

    doomed.write(`resend-dead ${perSecond}`);
    await doomed.line(/^resent \d+ 1000/);
    const waits = () =>
      outbox.query(
        `select 1 from pg_stat_activity where query like '%${outbox.schema}%bulk_resend%' and wait_event_type = 'Lock'`,
      );
    await awaitUntil('the third batch is under way', async () => (await waits()).length === 1);
    await doomed.kill('SIGKILL');
    await somebody.end(); // what the killed process had asked for is done now, or not: either is right

    const [run] = await outbox.sender.operations.bulkRuns();
    expect(run).toMatchObject({ matched: count, perSecond });
    expect(await outbox.sender.operations.resendMany({}, { resume: run?.run ?? '' })).toMatchObject({
      ...{ matched: count, resent: count, skipped: 0, isFinished: true },
    });
    const [row] = await outbox.query(
      `select count(*)::int as rows, count(*) filter (where state = 0 and round = 2 and attempts = 0)::int as resent,
              count(distinct due_at)::int as turns,
              round(extract(epoch from max(due_at) - min(due_at)) * 1000)::int as "lastsMs" from outbox`,
    );
    expect(row).toMatchObject({ rows: count, resent: count, turns: count });
    expect((row as { lastsMs: number }).lastsMs).toBeGreaterThanOrEqual(((count - 1) / perSecond) * 1_000);
    expect(await outbox.sender.operations.bulkRuns()).toEqual([]);
    await expect(outbox.sender.operations.resendMany({}, { resume: run?.run ?? '' })).rejects.toThrow(/unfinished/);
  },
);
