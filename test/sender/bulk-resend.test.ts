import { describe, expect, test } from 'vitest';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

async function deadOnes(outbox: Outbox, count: number): Promise<void> {
  await outbox.putEndpoint({ id: 'm' });
  await outbox.sender.notifyMany(
    Array.from({ length: count }, (_, index) => ({ endpoint: 'm', ...paid, bizId: `PAY${index}` })),
  );
  await outbox.query("update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up', attempts = 8");
}

describe.each(databases)('a bulk resend on $name', ({ open }) => {
  test('a dry run counts and changes nothing', async () => {
    await using outbox = await freshOutbox(open);
    await deadOnes(outbox, 3);
    expect(await outbox.sender.operations.resendMany({ state: 'dead' }, { dryRun: true })).toMatchObject({
      matched: 3,
      resent: 0,
    });
    expect((await outbox.sender.operations.list({ state: 'dead' })).items).toHaveLength(3);
  });

  test('each gets a fresh round, due one after the other at the given pace, and the run is audited', async () => {
    await using outbox = await freshOutbox(open);
    await deadOnes(outbox, 4);
    const progress = await outbox.sender.operations.resendMany({ state: 'dead' }, { perSecond: 10, actor: 'ann' });
    expect(progress).toMatchObject({ matched: 4, resent: 4, skipped: 0, isFinished: true });
    const { items } = await outbox.sender.operations.list({ state: 'pending' });
    expect(items.map(({ round, attempts }) => [round, attempts])).toEqual(Array.from({ length: 4 }, () => [2, 0]));
    const due = items.map(({ dueAt }) => dueAt.getTime()).sort((a, b) => a - b);
    expect(due.map((at) => at - due[0]!)).toEqual([0, 100, 200, 300]);
    expect((await outbox.sender.operations.audit()).items[0]).toMatchObject({ actor: 'ann', action: 'resend-many' });
  });

  test('what may have been forgotten by the receiver is skipped unless a second effect is accepted', async () => {
    await using outbox = await freshOutbox(open);
    await deadOnes(outbox, 2);
    await outbox.query(
      "update outbox set may_have_arrived = true, first_claimed_at = now() - interval '7 days' where number = (select min(number) from outbox)",
    );
    const options = { perSecond: 1000 };
    expect(await outbox.sender.operations.resendMany({ state: 'dead' }, options)).toMatchObject({
      resent: 1,
      skipped: 1,
    });
    expect(
      await outbox.sender.operations.resendMany({ state: 'dead' }, { ...options, acceptDuplicateEffect: true }),
    ).toMatchObject({ resent: 1, skipped: 0 });
  });

  test('selects notifications, not attempts: one that failed twice and then succeeded is left alone (R196)', async () => {
    await using outbox = await freshOutbox(open, { policies: { quick: { gapsMs: [100, 100] } }, policy: 'quick' });
    await using merchant = await scriptedEndpoint(500, 500, 200);
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await outbox.sender.notify({ endpoint: 'm', ...paid });
    for (let pass = 0; pass < 3; pass += 1) {
      await outbox.sender.runOnce();
      await outbox.age({ byMs: 1000 });
    }
    expect((await outbox.sender.operations.list()).items[0]).toMatchObject({ state: 'delivered', attempts: 3 });
    expect(await outbox.sender.operations.resendMany({ state: 'dead' }, { dryRun: true })).toMatchObject({
      matched: 0,
    });
  });

  test('an interrupted run goes on where it was, and does not take what died after it began', async () => {
    await using outbox = await freshOutbox(open);
    await deadOnes(outbox, 1200);
    const stop = new AbortController();
    const first = await outbox.sender.operations.resendMany(
      { state: 'dead' },
      { perSecond: 100_000, signal: stop.signal, onProgress: () => stop.abort() },
    );
    expect(first).toMatchObject({ resent: 500, matched: 1200, isFinished: false });
    expect(await outbox.sender.operations.bulkRuns()).toMatchObject([
      { run: first.run, filter: { state: 'dead' }, perSecond: 100_000, matched: 1200, resent: 500, actor: 'operator' },
    ]);
    await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: 'LATER' });
    await outbox.query(
      'update outbox set state = 2, settled_at = now() where number = (select max(number) from outbox)',
    );

    const rest = await outbox.sender.operations.resendMany({}, { resume: first.run!, perSecond: 1 });
    expect(rest).toMatchObject({ resent: 1200, matched: 1200, skipped: 0, isFinished: true });
    expect(await outbox.sender.operations.bulkRuns()).toEqual([]);
    expect((await outbox.sender.operations.list({ state: 'dead' })).items.map(({ bizId }) => bizId)).toEqual(['LATER']);
    await expect(outbox.sender.operations.resendMany({}, { resume: first.run! })).rejects.toThrow(
      /no bulk resend that is unfinished/,
    );
  });

  test('a run that is stopped goes no further, not even where it is under way', async () => {
    await using outbox = await freshOutbox(open);
    await deadOnes(outbox, 1200);
    const { operations } = outbox.sender;
    let stopped: Promise<void> | undefined;
    const end = await operations.resendMany(
      { state: 'dead' },
      {
        onProgress: ({ run }) => void (stopped ??= operations.stopBulkRun(run!, { actor: 'olga', note: 'too early' })),
      },
    );
    await stopped;
    expect(end.isFinished).toBe(true);
    expect(end.resent).toBeLessThan(1200);
    expect((await operations.stats()).dead).toBe(1200 - end.resent);
    expect(await operations.bulkRuns()).toEqual([]);
    await expect(operations.stopBulkRun(end.run!)).rejects.toMatchObject({ option: 'run' });
    const { items } = await operations.audit();
    expect(items[0]).toMatchObject({ action: 'stop-resend-many', actor: 'olga', note: 'too early' });
  });

  test('a run is only for its own source, and for those who may act on all of its endpoints', async () => {
    await using outbox = await freshOutbox(open);
    await deadOnes(outbox, 600);
    const { operations } = outbox.sender;
    const interrupted = async (endpoints?: string[]) => {
      const stop = new AbortController();
      const filter = { state: 'dead' as const, ...(endpoints && { endpoints }) };
      return (await operations.resendMany(filter, { signal: stop.signal, onProgress: () => stop.abort() })).run!;
    };
    const limited = await interrupted(['m']);
    await outbox.query(`update outbox set state = 2, settled_at = now()`);
    const unlimited = await interrupted();
    const runsOf = async (endpoints: string[]) => (await operations.bulkRuns({ endpoints })).map(({ run }) => run);
    expect(await runsOf(['m', 'n'])).toEqual([limited]);
    expect(await runsOf(['n'])).toEqual([]);
    for (const run of [limited, unlimited, '0', 'x', '9'.repeat(30)]) {
      await expect(operations.resendMany({}, { resume: run, endpoints: ['n'] })).rejects.toMatchObject({
        option: 'resume',
      });
      await expect(operations.stopBulkRun(run, { endpoints: ['n'] })).rejects.toMatchObject({ option: 'run' });
    }
    const other = outbox.another({ source: 'another-pay' });
    expect(await other.operations.bulkRuns()).toEqual([]);
    await expect(other.operations.resendMany({}, { resume: unlimited })).rejects.toMatchObject({ option: 'resume' });
    expect((await operations.bulkRuns()).map(({ run }) => run)).toEqual([unlimited, limited]);
  });

  test('a filter without a settled state is refused', async () => {
    await using outbox = await freshOutbox(open);
    await expect(outbox.sender.operations.resendMany({ endpoint: 'm' })).rejects.toMatchObject({
      code: 'SENDER_CONFIGURATION',
      option: 'state',
    });
    await expect(outbox.sender.operations.resendMany({ state: 'pending' })).rejects.toMatchObject({ option: 'state' });
  });
});
