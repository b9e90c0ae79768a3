import { SchemaTooNewError } from './errors.js';
import { intOf, type Database, type Queryable } from './database.js';
import { migrations } from './migrations/index.js';
import { quoteSchema } from './schema-name.js';

/** One step of the schema. */
export interface Migration {
  version: number;
  /** True if workers older than this must not run on it. Enqueueing from the previous release keeps working always. */
  isBreaking: boolean;
  /** The statements, for an already quoted schema name. */
  sql: (schema: string) => string;
}

/** What {@link migrate} may be told. */
export interface MigrateOptions {
  /** How long to wait for another migration, or for a lock that live traffic holds, in ms. @default 30_000 */
  lockTimeoutMs?: number;
}

/** The newest version this release knows. */
const schemaVersion = Math.max(...migrations.map((migration) => migration.version));

/**
 * Brings the schema up to this release's version. Safe to call from every process at every start: one applies, the
 * others wait and find nothing to do.
 *
 * @returns the versions that were applied by this call.
 * @throws {@link SchemaTooNewError} if a newer release has made a breaking change.
 */
export async function migrate(database: Database, schema: string, options: MigrateOptions = {}): Promise<number[]> {
  const applied: number[] = [];
  for (const migration of migrations) {
    if (await database.transaction((tx) => apply(tx, schema, { migration, ...options }))) {
      applied.push(migration.version);
    }
  }
  await checkSchemaVersion(database, schema);
  return applied;
}

/** The whole schema as one SQL script, for those who apply it with a tool of their own. */
export function printMigrations(schema: string): string {
  const name = quoteSchema(schema);
  const steps = migrations.map(
    (migration) =>
      `-- version ${migration.version}\nbegin;\n${migration.version === migrations[0]?.version ? bootstrap(name) : ''}${migration.sql(name)}\n${record(name, migration)};\ncommit;\n`,
  );
  return steps.join('\n');
}

/** @throws {@link SchemaTooNewError} if the database holds a breaking version that this release does not know. */
export async function checkSchemaVersion(database: Queryable, schema: string): Promise<void> {
  const [row] = await database.query(
    `select coalesce(max(version), 0)::int4 as version from ${quoteSchema(schema)}.migration where is_breaking`,
    [],
  );
  const breakingVersion = row === undefined ? 0 : intOf(row, 'version');
  if (breakingVersion > schemaVersion) {
    throw new SchemaTooNewError({ schema, schemaVersion: breakingVersion, knownVersion: schemaVersion });
  }
}

async function apply(tx: Queryable, schema: string, step: { migration: Migration } & MigrateOptions): Promise<boolean> {
  const name = quoteSchema(schema);
  const { migration, lockTimeoutMs = 30_000 } = step;
  // Two deploys at once queue here instead of racing; a session that waits on live traffic gives up with an error.
  await tx.query(`select set_config('lock_timeout', $1, true)`, [`${Math.ceil(lockTimeoutMs)}ms`]);
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('bestnotify migrate ' || $1, 0))`, [schema]);
  for (const statement of statements(bootstrap(name))) await tx.query(statement, []);
  const [known] = await tx.query(`select 1 from ${name}.migration where version = $1::int4`, [migration.version]);
  if (known !== undefined) return false;
  for (const statement of statements(migration.sql(name))) await tx.query(statement, []);
  await tx.query(record(name, migration), []);
  return true;
}

/** What must exist before a version can be read. `if not exists` alone can fail in a race; the advisory lock is held. */
function bootstrap(name: string): string {
  return `create schema if not exists ${name};
create table if not exists ${name}.migration (
  version integer primary key,
  is_breaking boolean not null,
  applied_at timestamptz not null default now()
);
`;
}

function record(name: string, migration: Migration): string {
  return `insert into ${name}.migration (version, is_breaking) values (${migration.version}, ${migration.isBreaking})`;
}

/** Splits a script at the semicolons that end a line, outside dollar-quoted bodies: one statement per round trip works on every driver. */
function statements(script: string): string[] {
  const parts: string[] = [];
  let isQuoted = false;
  let current = '';
  for (const line of script.split('\n')) {
    if ((line.match(/\$\$/g)?.length ?? 0) % 2 === 1) isQuoted = !isQuoted;
    current += `${line}\n`;
    if (!isQuoted && line.trimEnd().endsWith(';')) {
      parts.push(current);
      current = '';
    }
  }
  return [...parts, current].map((part) => part.trim().replace(/;$/, '')).filter((part) => part !== '');
}
