import { describe, expect, test } from 'vitest';
import type { ListFilter } from '@bestnotify/sender';
import { explainList } from './list-plans.ts';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

const [postgres] = databases;

/** `count` more notifications, in the order of their numbers, written straight into the tables. */
async function fill(outbox: Outbox, count: number, endpoints = 2): Promise<void> {
  for (let each = 0; each < endpoints; each++) await outbox.putEndpoint({ id: `merchant-${42 + each}` });
  await outbox.query(
    `with made as (
       insert into notification (number, id, source, endpoint, type, biz_id, subject, content_type, body, created_at)
       select nextval('notification_number'), gen_random_uuid(), 'acme-pay', 'merchant-' || 42 + i % ${endpoints}, 'payment.success', 'PAY' || i,
              'ORDER' || i / 2, 'application/json', '{}', now() - (${count} - i) * interval '1 second'
         from generate_series(1, ${count}) i order by i
       returning number, endpoint
     )
     insert into outbox (number, endpoint_key, lane, state, reason, settled_at)
     select m.number, e.key, 1, 1, 'handled', now() from made m join endpoint e on e.id = m.endpoint`,
  );
  await outbox.query('analyze');
}

async function everything(outbox: Outbox, filter: object, limit = 500): Promise<{ ids: string[]; pages: number }> {
  const ids: string[] = [];
  let after: string | null = null;
  let pages = 0;
  do {
    const page = await outbox.sender.operations.list({ ...filter, limit, ...(after !== null && { after }) });
    ids.push(...page.items.map(({ bizId }) => bizId));
    after = page.next;
    pages += 1;
  } while (after !== null);
  return { ids, pages };
}

describe.each(databases)('lists on $name', ({ open }) => {
  test('each filter finds what it names, newest first, page by page', async () => {
    await using outbox = await freshOutbox(open);
    await fill(outbox, 12);
    await outbox.query(
      `update outbox set state = 2, reason = 'gone' where number in (select number from notification where biz_id in ('PAY3', 'PAY6'))`,
    );
    await outbox.query(
      `update outbox set reason = 'duplicate' where number in (select number from notification where biz_id = 'PAY5')`,
    );
    await outbox.query(`update notification set type = 'refund.success' where biz_id in ('PAY1', 'PAY3')`);
    const found = async (filter: object) => (await everything(outbox, filter, 1)).ids;
    expect(await found({ state: 'dead' })).toEqual(['PAY6', 'PAY3']);
    expect(await found({ state: 'dead', type: 'refund.success' })).toEqual(['PAY3']);
    expect(await found({ type: 'refund.success' })).toEqual(['PAY3', 'PAY1']);
    expect(await found({ reason: 'duplicate' })).toEqual(['PAY5']);
    expect(await found({ reason: 'gone', endpoint: 'merchant-42' })).toEqual(['PAY6']);
    expect(await found({ search: 'ORDER2' })).toEqual(['PAY5', 'PAY4']);
    expect(await found({ search: 'PAY7' })).toEqual(['PAY7']);
    expect(await found({ subject: 'ORDER2', bizId: 'PAY4' })).toEqual(['PAY4']);
    expect(await found({ endpoints: ['merchant-43'], state: 'dead' })).toEqual(['PAY3']);
    expect(await found({ endpoints: [] })).toEqual([]);
    expect(await found({ endpoints: ['merchant-42', 'merchant-43'], search: 'PAY8' })).toEqual(['PAY8']);
    const { items } = await outbox.sender.operations.list({ bizId: 'PAY9' });
    expect(await found({ ids: items.map(({ id }) => id) })).toEqual(['PAY9']);
  });

  test('pending ones come by when they are due, each once, although two lanes and equal moments are among them', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    await outbox.putEndpoint({ id: 'merchant-43' });
    for (const [index, lane] of (['normal', 'urgent', 'normal', 'urgent', 'normal'] as const).entries()) {
      await outbox.sender.notify({ endpoint: `merchant-4${2 + (index % 2)}`, ...paid, bizId: `PAY${index}`, lane });
    }
    // Within one millisecond, so that only microseconds tell them apart; two are the same to the last digit.
    await outbox.query(
      `update outbox o set due_at = timestamptz '2027-01-01 00:00:00.123450Z' + (4 - right(n.biz_id, 1)::int) / 2 * interval '1 microsecond'
         from notification n where n.number = o.number`,
    );
    const { ids } = await everything(outbox, { state: 'pending' }, 1);
    expect(ids).toHaveLength(5);
    expect([...ids.slice(0, 2)].sort()).toEqual(['PAY3', 'PAY4']);
    expect([...ids.slice(2, 4)].sort()).toEqual(['PAY1', 'PAY2']);
    expect(ids[4]).toBe('PAY0');
    expect((await everything(outbox, { state: 'pending', endpoint: 'merchant-43' }, 1)).ids).toEqual(['PAY3', 'PAY1']);
    expect((await everything(outbox, { state: 'pending', endpoints: ['merchant-43'] })).ids).toEqual(['PAY3', 'PAY1']);
    expect((await everything(outbox, { state: 'pending', search: 'PAY4' })).ids).toEqual(['PAY4']);
  });

  test('two rows a microsecond apart are on two pages, once each (R164)', async () => {
    await using outbox = await freshOutbox(open);
    await fill(outbox, 2);
    await outbox.query(
      `update notification set created_at = timestamptz '2027-01-01 00:00:30.708225Z' + (biz_id = 'PAY2')::int * interval '1 microsecond'`,
    );
    expect((await everything(outbox, { since: new Date('2027-01-01T00:00:30.708Z') }, 1)).ids).toEqual([
      'PAY2',
      'PAY1',
    ]);
  });

  test('since and until cut at the moment, also where the index is only near it', async () => {
    await using outbox = await freshOutbox(open);
    await fill(outbox, 10);
    await outbox.query(
      `update notification set created_at = timestamptz '2027-01-01Z' + right(biz_id, 1)::int * interval '2 hours' where biz_id <> 'PAY10'`,
    );
    await outbox.query(`update notification set created_at = timestamptz '2027-01-02Z' where biz_id = 'PAY10'`);
    const found = async (filter: object) => (await everything(outbox, filter)).ids;
    const at = (hour: number) => new Date(Date.UTC(2027, 0, 1, hour));
    expect(await found({ since: at(14) })).toEqual(['PAY10', 'PAY9', 'PAY8', 'PAY7']);
    expect(await found({ until: at(4) })).toEqual(['PAY1']);
    expect(await found({ since: at(4), until: at(8) })).toEqual(['PAY3', 'PAY2']);
    expect(await found({ since: at(100) })).toEqual([]);
    expect(await found({ until: at(-100) })).toEqual([]);
  });
});

test('of many that each of two filters names, those that both name are found, page by page', async () => {
  await using outbox = await freshOutbox(postgres!.open);
  await fill(outbox, 2_000); // every other one is of merchant-43: the odd ones
  await outbox.query(
    `update outbox o set state = 2, reason = 'gone' from notification n
      where n.number = o.number and (n.endpoint = 'merchant-42' or substr(n.biz_id, 4)::int < 120)`,
  );
  const odd = Array.from({ length: 60 }, (_, index) => `PAY${119 - 2 * index}`);
  expect(await everything(outbox, { state: 'dead', endpoint: 'merchant-43' }, 50)).toEqual({ ids: odd, pages: 2 });
  expect((await everything(outbox, { state: 'dead', endpoints: ['merchant-43'] }, 50)).ids).toEqual(odd);
  expect(
    (await everything(outbox, { state: 'dead', endpoint: 'merchant-43', type: 'payment.success' }, 50)).ids,
  ).toEqual(odd);
  expect((await everything(outbox, { state: 'cancelled', endpoint: 'merchant-43' }, 50)).ids).toEqual([]);
});

test('one page looks at 5,000 rows at most: a rare one far back is found by going on from empty pages', async () => {
  await using outbox = await freshOutbox(postgres!.open);
  await fill(outbox, 12_000);
  await outbox.query(`update notification set content_type = 'x' where biz_id = 'PAY7'`);
  await outbox.query(
    `update outbox set reason = 'acknowledged' where number = (select number from notification where biz_id = 'PAY7')`,
  );
  const rare = await everything(outbox, { reason: 'acknowledged' });
  expect(rare).toEqual({ ids: ['PAY7'], pages: 3 });
  expect((await everything(outbox, {})).ids).toHaveLength(12_000);
  const dead = await everything(outbox, { reason: 'acknowledged', endpoint: 'merchant-43' });
  expect(dead).toEqual({ ids: ['PAY7'], pages: 2 }); // through the endpoint's own index
});

test.each<[string, ListFilter]>([
  ['nothing', {}],
  ['state', { state: 'dead' }],
  ['a dense state', { state: 'delivered' }],
  ['pending', { state: 'pending' }],
  ['pending of an endpoint', { state: 'pending', endpoint: 'merchant-42' }],
  ['endpoint', { endpoint: 'merchant-42' }],
  ['endpoints', { endpoints: ['merchant-42', 'merchant-43'] }],
  ['type', { type: 'payment.success' }],
  ['reason', { reason: 'duplicate' }],
  ['a common reason', { reason: 'handled' }],
  ['business id', { bizId: 'PAY1' }],
  ['subject', { subject: 'ORDER1' }],
  ['search', { search: 'PAY1' }],
  ['time', { since: new Date('2020-01-01'), until: new Date('2030-01-01') }],
  ['all together', { state: 'dead', endpoint: 'merchant-42', type: 'payment.success', reason: 'gone' }],
])('no statement of a list by %s reads or counts a whole table', async (_what, filter) => {
  await using outbox = await freshOutbox(postgres!.open);
  await fill(outbox, 6_000, 20);
  const plans = await explainList(outbox, filter);
  expect(plans.length).toBeGreaterThan(0);
  for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on (outbox|notification|attempt)|Hash Join|JIT/);
});
