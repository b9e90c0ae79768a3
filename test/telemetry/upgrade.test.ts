import { createSender } from '@bestnotify/sender';
import { expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid, source } from '../sender/fresh-outbox.ts';

test('a schema from before traces is upgraded in place: rows, grants and the statements of earlier releases go on', async () => {
  await using database = await (databases[0]?.open() ?? expect.fail());
  await using merchant = await scriptedEndpoint(200);
  const { schema, query } = database;
  const sender = createSender({
    ...{ source, database: database.database, schema, allowPrivateNetwork: ['127.0.0.0/8'] },
    secretStorage: { keys: [{ id: 'test', key: Buffer.alloc(32, 1).toString('base64') }] },
  });
  const [before = '', ...rest] = sender.printMigrations().split(/^-- version 5$/m);
  expect(rest).toHaveLength(1);
  await query(before);
  await query(
    `insert into endpoint (source, id, url, allow_http, allow_private_network) values ('${source}', 'm', '${merchant.url}', true, '{127.0.0.0/8}')`,
  );
  await query(`insert into endpoint_health (endpoint_key) select key from endpoint`);
  const enqueue = (bizId: string) =>
    query(
      `select * from enqueue(source => '${source}', endpoint => 'm', type => 'a', biz_id => '${bizId}', data => '1')`,
    );
  await enqueue('BEFORE');
  await query(`grant execute on function enqueue to pg_monitor`);
  // What an earlier release holds open while it is upgraded: neither statement names a new column.
  const insertEndpoint = `insert into endpoint as e (source, id, url) values ('${source}', 'other', 'https://shop.example/') on conflict (source, id) do update set url = excluded.url`;

  expect(await sender.migrate()).toEqual([5, 6]);

  await enqueue('AFTER');
  await query(insertEndpoint);
  await query(insertEndpoint);
  const [grant] = await query<{ may: boolean }>(
    `select bool_and(has_function_privilege('pg_monitor', p.oid, 'execute')) as may from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = '${schema}' and p.proname = 'enqueue'`,
  );
  expect(grant?.may).toBe(true);
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  await sender.endpoints.put({
    id: 'm',
    url: merchant.url,
    secrets: [secret],
    allowHttp: true,
    allowPrivateNetwork: true,
    traceparent: true,
  });
  await sender.notify({ endpoint: 'm', ...paid });
  expect(await sender.runOnce()).toMatchObject({ delivered: 3 });
  expect(merchant.requests.map(({ headers }) => headers['traceparent'])).toEqual([undefined, undefined, undefined]);
  await sender.close();
});
