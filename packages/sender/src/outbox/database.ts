/**
 * One result row, by column name. Our statements cast each column to text, int4, boolean or bytea; or to varchar, which
 * means text that a driver may give as its UTF-8 bytes.
 */
export type Row = Record<string, unknown>;

/** What a statement's parameters may be. Arrays travel as one JSON or array-literal text: drivers disagree on the rest. */
export type Parameter = string | number | boolean | Uint8Array | null;

/**
 * The one seam to PostgreSQL: a statement and its parameters in, rows out.
 *
 * Everything the sender does goes through this method, whatever client is behind it: postgres.js, pg, PGlite, or any
 * drizzle database over them.
 */
export interface Queryable {
  query(text: string, parameters: readonly Parameter[]): Promise<Row[]>;
}

/** A database of the sender's own, as opposed to a transaction that belongs to a caller. */
export interface Database extends Queryable {
  /** True where every query shares one session, so that a query outside an open transaction would wait for ever. */
  readonly isSingleSession: boolean;
  /** Runs `work` in one transaction and commits it; a throw rolls back. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** Runs a script of several statements without parameters. */
  script(text: string): Promise<void>;
  /** Closes what the sender opened; a database that the host passed in stays open. */
  close(): Promise<void>;
}

/** A text column of a row. @throws TypeError if the statement and its reader disagree, which is a bug of ours. */
export function textOf(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} is ${typeof value}, expected text`);
  return value;
}

/** A text column that may be null. */
export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : textOf(row, column);
}

/** An int4 column. */
export function intOf(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw new TypeError(`column ${column} is ${typeof value}, expected int4`);
  return value;
}

/** An int4 column that may be null. */
export function intOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : intOf(row, column);
}

/** A boolean column. */
export function booleanOf(row: Row, column: string): boolean {
  const value = row[column];
  if (typeof value !== 'boolean') throw new TypeError(`column ${column} is ${typeof value}, expected boolean`);
  return value;
}

/** The bytes of a bytea column, of which PGlite gives a Uint8Array and the other drivers a Buffer, or of a varchar column. */
export function bytesOf(row: Row, column: string): Buffer {
  const value = row[column];
  if (typeof value === 'string') return Buffer.from(value, 'utf8');
  if (!(value instanceof Uint8Array)) throw new TypeError(`column ${column} is ${typeof value}, expected bytea`);
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength);
}

/** An array parameter as PostgreSQL's own literal, for a `$n::text::text[]` or `$n::text::bigint[]`: the same on every driver. */
export function arrayLiteral(values: readonly (string | number | boolean | null)[]): string {
  return `{${values.map((value) => (typeof value === 'string' ? quoted(value) : (value ?? 'NULL'))).join(',')}}`;
}

function quoted(text: string): string {
  return `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;
}
