import { ConfigurationError, createSender, SchemaMissingError, SchemaTooNewError } from '@bestnotify/sender';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { databases, type TestDatabase } from '../fixtures/databases.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox, paid, source } from './fresh-outbox.ts';

const [postgresql] = databases;

/** The shape of a schema: columns, their types and defaults, and the definitions of indexes. */
async function shapeOf({ query, schema }: Pick<TestDatabase, 'query' | 'schema'>) {
  const columns = await query<{ text: string }>(
    `select table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') as text
       from information_schema.columns where table_schema = '${schema}'`,
  );
  const indexes = await query<{ text: string }>(
    `select indexdef as text from pg_indexes where schemaname = '${schema}'`,
  );
  return [...columns, ...indexes].map(({ text }) => text.replaceAll(schema, 'schema')).sort();
}

describe.each(databases)('migrations on $name', ({ open }) => {
  test('a second call finds nothing to do', async () => {
    await using outbox = await freshOutbox(open);
    const versions = await outbox.query<{ version: number }>('select version from migration order by version');

    expect(await outbox.sender.migrate()).toEqual([]);
    expect(versions.map(({ version }) => version)).toEqual(versions.map((_, index) => index + 1));
  });

  test('two schemas live side by side and know nothing of each other', async () => {
    await using first = await freshOutbox(open);
    await using second = await freshOutbox(open);
    await first.putEndpoint({ id: 'merchant-42' });

    await first.sender.notify({ endpoint: 'merchant-42', ...paid });

    expect(await second.sender.endpoints.list()).toEqual([]);
    expect((await second.sender.runOnce()).claimed).toBe(0);
    expect((await second.sender.operations.list()).items).toEqual([]);
  });

  test('before the first one every call says what is missing', async () => {
    await using database = await open();
    const sender = createSender({ source, database: database.database, schema: database.schema });

    await expect(sender.notify({ endpoint: 'merchant-42', ...paid })).rejects.toBeInstanceOf(SchemaMissingError);
    await expect(sender.endpoints.list()).rejects.toBeInstanceOf(SchemaMissingError);
    await expect(sender.runOnce()).rejects.toMatchObject({ code: 'SENDER_SCHEMA_MISSING' });
    await sender.close();
  });

  test('a newer breaking schema is refused with both version numbers, while enqueueing goes on', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });
    const [known] = await outbox.query<{ version: number }>('select max(version) as version from migration');
    await outbox.query('insert into migration (version, is_breaking) values (1000, true)');
    const facts = { code: 'SENDER_SCHEMA_TOO_NEW', schemaVersion: 1000, knownVersion: known?.version };
    const { sender } = outbox;

    await expect(sender.migrate()).rejects.toBeInstanceOf(SchemaTooNewError);
    await expect(sender.migrate()).rejects.toMatchObject(facts);
    await expect(sender.migrate()).rejects.toThrow(/1000.*knows \d+/);
    await expect(sender.runOnce()).rejects.toMatchObject(facts);
    const errors: unknown[] = [];
    sender.on('error', ({ error }) => errors.push(error));
    const worker = sender.startWorker({ minPollMs: 5 });
    expect(await sender.notify({ endpoint: 'merchant-42', ...paid })).toMatchObject({ created: true });
    await awaitUntil('the worker has said so', () => errors.length > 0);
    await worker.stop();
    expect(errors[0]).toMatchObject(facts);
    expect((await sender.operations.list()).items).toMatchObject([{ state: 'pending', attempts: 0 }]);
  });

  test('a newer schema that breaks nothing is no obstacle', async () => {
    await using outbox = await freshOutbox(open);
    await outbox.query('insert into migration (version, is_breaking) values (1000, false)');

    expect(await outbox.sender.migrate()).toEqual([]);
    expect(await outbox.sender.runOnce()).toMatchObject({ claimed: 0 });
  });

  test('every moment has a time zone, bodies are bytes, and no column is JSON (R022, R161, R163)', async () => {
    await using outbox = await freshOutbox(open);

    const columns = await outbox.query<{ name: string; type: string }>(
      `select table_name || '.' || column_name as name, data_type as type
         from information_schema.columns where table_schema = '${outbox.schema}'`,
    );

    const ofType = (pattern: RegExp) => columns.filter(({ type }) => pattern.test(type)).map(({ name }) => name);
    expect(ofType(/timestamp with time zone/).length).toBeGreaterThan(10);
    expect(
      ofType(/^timestamp without|^time|^date$/).filter((name) => !ofType(/with time zone/).includes(name)),
    ).toEqual([]);
    expect(ofType(/json/)).toEqual([]);
    expect(ofType(/bytea/)).toEqual(expect.arrayContaining(['notification.body', 'attempt.snippet']));
    expect(ofType(/bigint/)).toEqual(
      expect.arrayContaining(['outbox.number', 'outbox.endpoint_key', 'endpoint.key', 'attempt.notification_number']),
    );
  });
});

describe('migrations on PostgreSQL, from several processes', () => {
  const open = () => postgresql?.open() ?? expect.fail();

  test('eight at once: each version is applied once, and nobody fails', async () => {
    await using database = await open();
    const senders = Array.from({ length: 8 }, () =>
      createSender({ source, database: database.database, schema: database.schema, postgres: { maxConnections: 1 } }),
    );

    const applied = await Promise.all(senders.map((sender) => sender.migrate()));

    const versions = await database.query<{ version: number }>('select version from migration order by version');
    expect(applied.flat().sort((a, b) => a - b)).toEqual(versions.map(({ version }) => version));
    expect(versions.length).toBeGreaterThan(0);
    await Promise.all(senders.map((sender) => sender.close()));
  });

  test('while a worker runs they neither stop it nor wait for it', async () => {
    await using outbox = await freshOutbox(open);
    const errors: unknown[] = [];
    outbox.sender.on('error', ({ error }) => errors.push(error));
    const worker = outbox.sender.startWorker({ minPollMs: 1, maxPollMs: 2 });

    await Promise.all(Array.from({ length: 8 }, () => outbox.another().migrate()));

    await worker.stop();
    expect(errors).toEqual([]);
  });

  test('one that cannot get its lock gives up after lockTimeoutMs, and works afterwards', async () => {
    await using database = await open();
    const sender = createSender({ source, database: database.database, schema: database.schema });
    const other = new Client({ connectionString: requiredEnv('DATABASE_URL') });
    await other.connect();
    await other.query('begin');
    await other.query(`select pg_advisory_xact_lock(hashtextextended('bestnotify migrate ' || $1, 0))`, [
      database.schema,
    ]);

    await expect(sender.migrate({ lockTimeoutMs: 50 })).rejects.toMatchObject({ code: '55P03' }); // lock_not_available

    await other.end();
    expect(await sender.migrate()).toContain(1);
    await sender.close();
  });

  test('printed, they are a script that any tool can run, with the same result', async () => {
    await using migrated = await freshOutbox(open);
    await using printed = await open();
    const sender = createSender({ source, database: printed.database, schema: printed.schema });
    const client = new Client({ connectionString: requiredEnv('DATABASE_URL') });
    await client.connect();

    await client.query(sender.printMigrations()); // one simple query, as psql -f would send it

    expect(await sender.migrate()).toEqual([]);
    expect(await shapeOf(printed)).toEqual(await shapeOf(migrated));
    await expect(client.query(sender.printMigrations())).rejects.toThrow('already exists'); // not twice by mistake
    await client.end();
    await sender.close();
  });

  test.each(['Outbox', 'out box', '', '1st', 'a"b', 'x'.repeat(64)])('the schema name %j is refused', (schema) => {
    expect(() => createSender({ source, database: requiredEnv('DATABASE_URL'), schema })).toThrow(ConfigurationError);
  });
});
