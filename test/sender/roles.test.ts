import { generateSecret } from '@bestnotify/sender';
import { readFile } from 'node:fs/promises';
import postgres from 'postgres';
import { expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

/** The grants that SECURITY.md gives, for another schema and role. */
async function documentedGrants(schema: string, role: string): Promise<string> {
  const text = await readFile(new URL('../../SECURITY.md', import.meta.url), 'utf8');
  const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(text) ?? [];
  return sql
    .replaceAll('bestnotify.', `${schema}.`)
    .replaceAll('schema bestnotify', `schema ${schema}`)
    .replaceAll('shop', role);
}

test('with the documented grants a business application may enqueue, and can read no secret', async () => {
  await using outbox = await freshOutbox(databases[0]!.open);
  await outbox.putEndpoint({ id: 'm' });
  const role = `shop_${outbox.schema}`;
  await outbox.query(await documentedGrants(outbox.schema, role));
  await outbox.query(`alter role ${role} password 'shop'`);
  const url = new URL(requiredEnv('DATABASE_URL'));
  url.username = role;
  url.password = 'shop';
  const sql = postgres(url.href, { max: 1, onnotice: () => undefined });
  try {
    const result = await sql.begin((tx) => outbox.sender.notify({ endpoint: 'm', ...paid }, { tx }));
    expect(result).toMatchObject({ created: true });
    const [row] = await sql.unsafe(`select created from ${outbox.schema}.enqueue('acme-pay', 'm', 'a', 'PAY2', '1')`);
    expect(row).toMatchObject({ created: true });
    // An endpoint named in the call is looked for on the sender's own connection: to try here would abort the transaction.
    const direct = { to: 'named', url: 'https://shop.example/notify', secret: generateSecret(), ...paid };
    const named = await sql.begin(async (tx) => [
      await outbox.sender.notify(direct, { tx }),
      await outbox.sender.notify({ ...direct, bizId: 'PAY2' }, { tx }),
    ]);
    expect(named.map(({ created }) => created)).toEqual([true, true]);
    for (const table of ['endpoint_secret', 'endpoint_wire', 'setting']) {
      await expect(sql.unsafe(`select * from ${outbox.schema}.${table}`)).rejects.toMatchObject({ code: '42501' });
    }
  } finally {
    await sql.end();
    await outbox.query(`drop owned by ${role}`);
    await outbox.query(`drop role ${role}`);
  }
});
