import { expect, test } from 'vitest';
import { scriptedEndpoint } from '@bestnotify/sender/testing';
import { Client } from 'pg';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

/** A transaction that holds an endpoint's health, so that everybody who wants it queues up behind. */
async function holdHealth({ schema }: Outbox): Promise<{ release: () => Promise<void> }> {
  const client = new Client({ connectionString: requiredEnv('DATABASE_URL') });
  await client.connect();
  await client.query('begin');
  await client.query(`select 1 from ${schema}.endpoint_health for update`);
  return { release: () => client.end() }; // an open transaction is rolled back with its connection
}

/** How many statements of this schema wait for a lock. */
async function waiting({ query, schema }: Outbox): Promise<number> {
  const [row] = await query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and query like '%${schema}%'`,
  );
  return row?.count ?? 0;
}

test.each(['resumed', 'held', 'removed'] as const)(
  'an endpoint that is %s while a worker reports its second 410: neither waits for the other in a circle',
  async (what) => {
    await using outbox = await freshOutbox(databases[0]?.open ?? expect.fail());
    await using merchant = await scriptedEndpoint(410);
    const { operations, endpoints } = outbox.sender;
    await outbox.putEndpoint({ id: 'm', url: merchant.url });
    await outbox.sender.notifyMany([0, 1].map((n) => ({ endpoint: 'm', ...paid, bizId: `PAY${n}` })));
    const errors: unknown[] = [];
    outbox.sender.on('error', ({ error }) => errors.push(error));
    const health = await holdHealth(outbox);

    const reporting = outbox.sender.runOnce();
    await awaitUntil('the report waits', async () => (await waiting(outbox)) === 1);
    const changes = {
      resumed: () => operations.resumeEndpoint('m'),
      held: () => operations.holdEndpoint('m'),
      removed: () => endpoints.remove('m'),
    };
    const changed = changes[what]();
    await awaitUntil('the change waits too', async () => (await waiting(outbox)) === 2);
    await health.release();
    await Promise.all([reporting, changed]); // or one of them is chosen as the victim of a deadlock, after a second

    expect(errors).toEqual([]);
    const endpoint = await endpoints.get('m');
    if (what === 'removed') expect(endpoint).toBeUndefined();
    else expect(endpoint?.heldBecause).toBe({ resumed: null, held: 'gone' }[what]);
  },
);
