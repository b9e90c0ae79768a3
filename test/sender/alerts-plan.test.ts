import { expect, test } from 'vitest';
import { deadStatement } from '../../packages/sender/src/alerts/collect-dead.ts';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox } from './fresh-outbox.ts';

const [postgresql] = databases;

test.each(['that were never gathered', 'that are fresh'])(
  'a look reads the few dead that nobody was told of, and not the many that are told, with statistics %s',
  { timeout: 60_000 },
  async (statistics) => {
    await using outbox = await freshOutbox(postgresql!.open);
    await outbox.putEndpoint({ id: 'm' });
    await outbox.query(
      `insert into notification (number, id, source, endpoint, type, biz_id, content_type)
       select n, gen_random_uuid(), 'acme-pay', 'm', 'x', 'B' || n, 'application/json' from generate_series(1, 50000) n`,
    );
    await outbox.query(
      `insert into outbox (number, endpoint_key, lane, state, settled_at, reason, told_round)
       select n, (select key from endpoint), 1, 2, now() - n * interval '1 second', 'r', case when n <= 20 then 0 else 1 end
         from generate_series(1, 50000) n`,
    );
    if (statistics === 'that are fresh') await outbox.query('analyze outbox, notification');
    const values = ["'acme-pay'", "'[]'", '86400000', "'-infinity'", "'0'"];
    const statement = values.reduce(
      (text, value, index) => text.replaceAll(`$${index + 1}`, value),
      deadStatement(outbox.schema),
    );
    const rows = await outbox.query<{ 'QUERY PLAN': string }>(`explain (analyze, timing off) ${statement}`);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');

    expect(plan).toContain('outbox_untold');
    expect(plan).not.toMatch(/Seq Scan on|outbox_dead_at|JIT/);
  },
);
