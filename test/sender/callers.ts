import type { CallerTransaction, TransactionalClient } from '@bestnotify/sender';
import { drizzle as drizzleNodePostgres } from 'drizzle-orm/node-postgres';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { Client, Pool } from 'pg';
import postgres from 'postgres';
import { databases, type TestDatabase } from '../fixtures/databases.ts';
import { sharedPglite } from '../fixtures/pglite.ts';
import { requiredEnv } from '../fixtures/required-env.ts';

/** What a platform does in its transaction: `run` is for statements of its own. */
type Work<T> = (tx: CallerTransaction, run: (statement: string) => Promise<unknown>) => Promise<T>;

/** A platform's own way to open a transaction. */
export interface Caller {
  readonly name: string;
  readonly open: () => Promise<TestDatabase>;
  /** Runs `work` in a transaction of a client of its own: commits, or rolls back when it throws. */
  readonly begin: <T>(work: Work<T>) => Promise<T>;
}

const [postgresql, pglite] = databases.map((database) => () => database.open());
if (postgresql === undefined || pglite === undefined) throw new Error('The matrix has two databases.');

/** Each client that a platform may have, over each database. */
export const callers: readonly Caller[] = [
  { name: 'drizzle over postgres.js', open: postgresql, begin: beginDrizzlePostgresJs },
  { name: 'drizzle over node-postgres', open: postgresql, begin: beginDrizzleNodePostgres },
  { name: 'postgres.js', open: postgresql, begin: beginPostgresJs },
  { name: 'pg', open: postgresql, begin: beginPg },
  { name: 'drizzle over PGlite', open: pglite, begin: beginDrizzlePglite },
  { name: 'PGlite', open: pglite, begin: beginPglite },
];

/** A client that `sender.transaction` takes, over each database; closed by the disposer. */
export interface TransactionalCaller {
  readonly name: string;
  readonly open: () => Promise<TestDatabase>;
  readonly connect: () => Promise<AsyncDisposable & { readonly client: TransactionalClient<CallerTransaction> }>;
}

export const transactionalCallers: readonly TransactionalCaller[] = [
  {
    name: 'drizzle over postgres.js',
    open: postgresql,
    connect: () => withPostgresJs((client) => drizzlePostgresJs(client)),
  },
  { name: 'drizzle over node-postgres', open: postgresql, connect: connectDrizzleNodePostgres },
  { name: 'postgres.js', open: postgresql, connect: () => withPostgresJs((client) => client) },
  {
    name: 'drizzle over PGlite',
    open: pglite,
    connect: async () => neverClosed(drizzlePglite(await sharedPglite())),
  },
  { name: 'PGlite', open: pglite, connect: async () => neverClosed(await sharedPglite()) },
];

function withPostgresJs<C>(wrap: (client: postgres.Sql) => C): Promise<AsyncDisposable & { client: C }> {
  const client = postgres(requiredEnv('DATABASE_URL'), { max: 1, onnotice: () => undefined });
  return Promise.resolve({ client: wrap(client), [Symbol.asyncDispose]: () => client.end() });
}

function connectDrizzleNodePostgres() {
  const pool = new Pool({ connectionString: requiredEnv('DATABASE_URL'), max: 1 });
  return Promise.resolve({ client: drizzleNodePostgres(pool), [Symbol.asyncDispose]: () => pool.end() });
}

function neverClosed<C>(client: C): AsyncDisposable & { client: C } {
  return { client, [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function beginDrizzlePostgresJs<T>(work: Work<T>): Promise<T> {
  const client = postgres(requiredEnv('DATABASE_URL'), { max: 1, onnotice: () => undefined });
  try {
    return await drizzlePostgresJs(client).transaction((tx) => work(tx, async (statement) => tx.execute(statement)));
  } finally {
    await client.end();
  }
}

async function beginDrizzleNodePostgres<T>(work: Work<T>): Promise<T> {
  const pool = new Pool({ connectionString: requiredEnv('DATABASE_URL'), max: 1 });
  try {
    return await drizzleNodePostgres(pool).transaction((tx) => work(tx, (statement) => tx.execute(statement)));
  } finally {
    await pool.end();
  }
}

async function beginPostgresJs<T>(work: Work<T>): Promise<T> {
  const client = postgres(requiredEnv('DATABASE_URL'), { max: 1, onnotice: () => undefined });
  try {
    return (await client.begin((sql) => work(sql, (statement) => sql.unsafe(statement)))) as T;
  } finally {
    await client.end();
  }
}

async function beginPg<T>(work: Work<T>): Promise<T> {
  const client = new Client({ connectionString: requiredEnv('DATABASE_URL') });
  await client.connect();
  try {
    await client.query('begin');
    const result = await work(client, (statement) => client.query(statement));
    await client.query('commit');
    return result;
  } finally {
    await client.end(); // an open transaction is rolled back with its connection
  }
}

async function beginDrizzlePglite<T>(work: Work<T>): Promise<T> {
  return drizzlePglite(await sharedPglite()).transaction((tx) => work(tx, (statement) => tx.execute(statement)));
}

async function beginPglite<T>(work: Work<T>): Promise<T> {
  const instance = await sharedPglite();
  return instance.transaction((tx) => work(tx, (statement) => tx.query(statement)));
}
