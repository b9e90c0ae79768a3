/** What a pg `Pool` or client, a PGlite, a postgres.js `sql` or a drizzle database has in common: an object we can ask. */
export type PostgresHandle = object;

/** Every parameter and every column is text; the statements cast, because the drivers disagree about everything else. */
export type Row = Record<string, string | null>;
export type Query = (text: string, parameters: readonly string[]) => Promise<Row[]>;

interface Asks {
  query(text: string, parameters: readonly string[]): Promise<{ rows: Row[] }>;
}
interface Unsafe {
  unsafe(text: string, parameters: readonly string[]): Promise<Row[]>;
}
interface Drizzle {
  execute(query: unknown): Promise<{ rows: Row[] } | Row[]>;
}

/** Speaks to whichever client was given; `undefined` when it is none that we know. */
export function queryOf(handle: PostgresHandle): Query | undefined {
  if (isUnsafe(handle)) return async (text, parameters) => [...(await handle.unsafe(text, parameters))];
  if (isDrizzle(handle)) return (text, parameters) => askDrizzle(handle, text, parameters);
  if (isAsks(handle)) return async (text, parameters) => (await handle.query(text, parameters)).rows;
  return undefined;
}

function isUnsafe(handle: object): handle is Unsafe {
  return typeof handle === 'function' && typeof (handle as Partial<Unsafe>).unsafe === 'function';
}

function isDrizzle(handle: object): handle is Drizzle {
  return typeof (handle as Partial<Drizzle>).execute === 'function';
}

function isAsks(handle: object): handle is Asks {
  return typeof (handle as Partial<Asks>).query === 'function';
}

async function askDrizzle(handle: Drizzle, text: string, parameters: readonly string[]): Promise<Row[]> {
  // Loaded only for those who use drizzle, from their own installation.
  const { sql } = await import('drizzle-orm');
  const parts = text
    .split(/\$(\d+)/)
    .map((part, i) => (i % 2 === 0 ? sql.raw(part) : sql`${parameters[Number(part) - 1]}`));
  const result = await handle.execute(sql.join(parts));
  return Array.isArray(result) ? [...result] : result.rows;
}

/**
 * True for a handle that can only be a pool or a database, never a transaction: a record written there would commit by itself.
 * A single pg client or PGlite transaction cannot be told from one outside a transaction.
 */
export function isSurelyNoTransaction(handle: PostgresHandle): boolean {
  if (isUnsafe(handle)) return !('savepoint' in handle);
  if (isDrizzle(handle)) return !('rollback' in handle);
  return 'totalCount' in handle; // pg.Pool
}
