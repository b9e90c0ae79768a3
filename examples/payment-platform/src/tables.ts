import { sql } from 'drizzle-orm';
import { numeric, pgSchema, text, type PgDatabase, type PgQueryResultHKT } from 'drizzle-orm/pg-core';

/** The platform's business database: the same code over postgres.js and over PGlite. */
export type PlatformDatabase = PgDatabase<PgQueryResultHKT>;

/** The platform's own tables. They know nothing of notifications. */
export function platformTables(schemaName: string) {
  const schema = pgSchema(schemaName);
  return {
    orders: schema.table('orders', {
      id: text('id').primaryKey(),
      state: text('state').notNull(),
      amount: numeric('amount', { precision: 14, scale: 2 }).notNull(),
    }),
    payments: schema.table('payments', {
      id: text('id').primaryKey(),
      orderId: text('order_id').notNull(),
      amount: numeric('amount', { precision: 14, scale: 2 }).notNull(),
    }),
    refunds: schema.table('refunds', {
      id: text('id').primaryKey(),
      orderId: text('order_id').notNull(),
      amount: numeric('amount', { precision: 14, scale: 2 }).notNull(),
    }),
  };
}

export type PlatformTables = ReturnType<typeof platformTables>;

/** What a migration tool would do in production. */
export async function createTables(db: PlatformDatabase, schemaName: string): Promise<void> {
  const schema = sql.identifier(schemaName);
  await db.execute(sql`create schema ${schema}`);
  await db.execute(
    sql`create table ${schema}.orders (id text primary key, state text not null, amount numeric(14, 2) not null)`,
  );
  for (const name of ['payments', 'refunds']) {
    await db.execute(
      sql`create table ${schema}.${sql.identifier(name)}
          (id text primary key, order_id text not null references ${schema}.orders, amount numeric(14, 2) not null)`,
    );
  }
}
