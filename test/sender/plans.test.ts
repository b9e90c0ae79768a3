import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { claimStatement } from '../../packages/sender/src/worker/claim-statement.ts';
import { settleParameters, settleStatement } from '../../packages/sender/src/worker/settle.ts';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, type Outbox } from './fresh-outbox.ts';

interface Node {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: Node[];
}

const [postgresql] = databases;
const endpoints = 500;
const pending = 10_000;
const settled = 10_000;
const limit = 100;

/** 10,000 pending rows, half of them on one endpoint, beside 10,000 settled ones. Autovacuum must not improve on the statistics. */
async function fill({ query, schema }: Outbox): Promise<void> {
  await query(
    `insert into endpoint (source, id, url) select 'acme-pay', 'e' || n, 'https://merchant.example/' from generate_series(1, ${endpoints}) n`,
  );
  await query('insert into endpoint_health (endpoint_key) select key from endpoint');
  await query(
    `insert into notification (number, id, source, endpoint, type, biz_id, content_type, body)
     select n, gen_random_uuid(), 'acme-pay', 'e' || (1 + n % ${endpoints}), 'x', 'B' || n, 'application/json', decode(repeat('7b7d', 100), 'hex')
       from generate_series(1, ${pending + settled}) n`,
  );
  await query(
    `insert into outbox (number, endpoint_key, lane, state, due_at, settled_at)
     select n, (select min(key) from ${schema}.endpoint) + case when n % 2 = 0 then 0 else n % ${endpoints} end, 1,
            case when n <= ${settled} then 1 else 0 end, now() - n * interval '1 millisecond', case when n <= ${settled} then now() end
       from generate_series(1, ${pending + settled}) n`,
  );
}

const statistics: readonly (readonly [name: string, prepare: (outbox: Outbox) => Promise<void>])[] = [
  ['that were never gathered', (outbox) => fill(outbox)],
  [
    'of empty tables',
    async (outbox) => {
      await analyze(outbox);
      await fill(outbox);
    },
  ],
  [
    'older than most waits, and than the leases of two whole batches',
    async (outbox) => {
      await fill(outbox);
      await analyze(outbox);
      await outbox.query(
        `update outbox set due_at = now() + interval '30 seconds' where number > ${settled + 2_500} and state = 0`,
      );
      await outbox.query(
        `update outbox set claim_token = gen_random_uuid(), claimed_until = now() + interval '30 seconds'
          where number in (select number from outbox where state = 0 and due_at <= now() order by due_at limit ${2 * limit})`,
      );
    },
  ],
  [
    'of a time when everything was settled',
    async (outbox) => {
      await fill(outbox);
      await outbox.query('update outbox set state = 1');
      await analyze(outbox);
      await outbox.query(`update outbox set state = 0 where number > ${settled}`);
    },
  ],
  [
    'that are fresh',
    async (outbox) => {
      await fill(outbox);
      await analyze(outbox);
    },
  ],
];

async function analyze({ query }: Outbox): Promise<void> {
  for (const table of ['outbox', 'notification', 'endpoint', 'endpoint_health']) await query(`analyze ${table}`);
}

/** Plans a statement as a worker's prepared one, in general or for these values, runs it, and takes its effect back. */
async function planOf(
  statement: string,
  values: readonly unknown[],
  mode: 'force_generic_plan' | 'force_custom_plan' = 'force_generic_plan',
): Promise<Node> {
  const client = new Client({ connectionString: requiredEnv('DATABASE_URL') });
  await client.connect();
  try {
    await client.query('begin');
    await client.query(`set local plan_cache_mode = ${mode}`);
    await client.query(`prepare planned as ${statement}`);
    const literals = values.map((value) => client.escapeLiteral(String(value))).join(', ');
    const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Node }] }>(
      `explain (analyze, buffers, format json) execute planned (${literals})`,
    );
    return rows[0]?.['QUERY PLAN'][0].Plan ?? expect.fail();
  } finally {
    await client.end();
  }
}

function nodesOf(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

/** No node may read one of the large tables from end to end, nor many rows of it. */
function expectSmall(plan: Node, rowLimit: number): void {
  const onLargeTables = nodesOf(plan).filter((node) =>
    /^(outbox|notification|attempt)$/.test(node['Relation Name'] ?? ''),
  );
  expect(onLargeTables.length).toBeGreaterThan(0);
  expect(onLargeTables.filter((node) => node['Node Type'] === 'Seq Scan')).toEqual([]);
  for (const node of onLargeTables) {
    const perLoop =
      (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    expect(perLoop * (node['Actual Loops'] ?? 1)).toBeLessThanOrEqual(rowLimit);
  }
}

describe.each(statistics)('plans with statistics %s', (_name, prepare) => {
  test('neither claim nor settle reads a large table from end to end', async () => {
    await using outbox = await freshOutbox(postgresql?.open ?? expect.fail());
    for (const table of ['outbox', 'notification', 'endpoint', 'endpoint_health', 'attempt']) {
      await outbox.query(`alter table ${table} set (autovacuum_enabled = false)`);
    }
    await prepare(outbox);

    for (const cursor of ['0', '250']) {
      const values = [cursor, randomUUID(), 30_000, 8, '{}', '{}', true, true];
      const plan = await planOf(claimStatement(outbox.schema, { lane: 1, limit }), values);
      expectSmall(plan, 4 * limit);
      expect((plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)).toBeLessThan(100 * limit);
    }

    const batch = await outbox.query<{ number: string; token: string }>(
      `update outbox set claim_token = gen_random_uuid() where number in (select number from outbox where state = 0 order by number limit ${limit})
       returning number::text, claim_token::text as token`,
    );
    expect(batch).toHaveLength(limit);
    const settlements = batch.map((row) => ({
      ...row,
      ...{ state: 1 as const, delayMs: 0, reason: 'handled', isCharged: true, heldMs: 0, mayHaveArrived: true },
      ...{ waits: 0, isReturn: false },
      attempt: {
        ...{ ordinal: 1, startedAtMs: 0, durationMs: 1, outcome: 'acknowledged' as const, status: 200 },
        ...{ because: 'handled', hint: null, error: null, snippetHex: null, url: '' },
      },
    }));
    for (const mode of ['force_generic_plan', 'force_custom_plan'] as const) {
      const plan = await planOf(settleStatement(outbox.schema), settleParameters(settlements), mode);
      expectSmall(plan, 4 * limit);
      // For each row anew it would sort the numbers of the whole batch anew.
      const onOutbox = nodesOf(plan).filter((node) => node['Relation Name'] === 'outbox');
      expect(new Set(onOutbox.map((node) => node['Actual Loops']))).toEqual(new Set([1]));
    }
  });
});
