import { source } from './outbox.mjs';

/**
 * Makes an outbox whose rows may be written faster than notifications are enqueued: without a log, and without the indexes
 * until {@link finish} builds them as they were. A claim cannot tell the difference: it uses the same tables and indexes.
 *
 * @returns `write(rows)` and `finish()`.
 */
export async function bulkFill({ sql, schema }) {
  const indexes = await sql`
    select indexname as name, indexdef as definition from pg_indexes
     where schemaname = ${schema} and tablename in ('notification', 'outbox') and indexdef not like 'CREATE UNIQUE%'`;
  const keys = await sql`
    select conrelid::regclass::text as "table", conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
     where connamespace = ${schema}::regnamespace and conrelid::regclass::text in ('notification', 'outbox') and contype in ('p', 'u')`;
  await sql.unsafe('alter table notification set unlogged; alter table outbox set unlogged');
  await sql.unsafe(`drop index ${indexes.map(({ name }) => name).join(', ')}`);
  for (const { table, name } of keys) await sql.unsafe(`alter table ${table} drop constraint ${name}`);
  return {
    /** Two connections write, each a half. */
    async write({ from, count, ...more }) {
      const half = Math.ceil(count / 2);
      await Promise.all([
        writeRows(sql, { ...more, from, count: half }),
        writeRows(sql, { ...more, from: from + half, count: count - half }),
      ]);
    },
    async finish() {
      const statements = [
        ...keys.map(({ table, name, definition }) => `alter table ${table} add constraint ${name} ${definition}`),
        ...indexes.map(({ definition }) => definition),
      ];
      const oneAfterTheOther = async (of) => {
        for (const statement of of) await sql.unsafe(statement);
      };
      // One connection for each table: two of the same would wait for each other's lock.
      await Promise.all(
        ['notification', 'outbox'].map((table) =>
          oneAfterTheOther(statements.filter((statement) => new RegExp(`(table |\\.)${table} `).test(statement))),
        ),
      );
      await sql.unsafe(`select setval('notification_number', (select max(number) from notification))`);
      await sql.unsafe('vacuum (analyze) notification, outbox');
    },
  };
}

/**
 * Writes notifications as they would be after a while of traffic: numbers, ids and due times grow together, endpoints are mixed.
 *
 * @param rows.endpoint - SQL over `i`, the row's number: the id of the endpoint it is for.
 * @param rows.state - 0 pending, 1 delivered.
 * @param rows.dueAt - SQL over `i`.
 * @param rows.bodyBytes - roughly how long a body is.
 */
export async function writeRows(sql, { from, count, endpoint, state = 0, dueAt = 'now()', bodyBytes = 1_024 }) {
  await sql.unsafe(`
    with made as materialized (
      select i, ('019b7892-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid as id, (${endpoint})::text as endpoint
        from generate_series(${from}::int8, ${from + count - 1}) i
    ), stored as (
      insert into notification (number, id, source, endpoint, type, biz_id, subject, content_type, body)
      select i, id, '${source}', endpoint, 'payment.success', 'PAY' || i, 'ORDER' || i, 'application/json',
             convert_to('{"source":"${source}","to":"' || endpoint || '","type":"payment.success","bizId":"PAY' || i
               || '","data":"' || repeat('x', ${Math.max(0, bodyBytes - 80)}) || '"}', 'UTF8')
        from made
    )
    insert into outbox (number, endpoint_key, lane, state, due_at, attempts, reason, first_claimed_at, first_attempt_at, settled_at)
    select m.i, e.key, 1, ${state}, ${dueAt}, ${state},
           ${state === 0 ? 'null, null, null, null' : `'handled', now(), now(), now()`}
      from made m join endpoint e on e.source = '${source}' and e.id = m.endpoint
     order by m.i`);
}
