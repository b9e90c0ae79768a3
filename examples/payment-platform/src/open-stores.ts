import { memoryStore, redisStore, type Store } from '@bestnotify/receiver';
import type { DatabaseOption } from '@bestnotify/sender';
import { PGlite } from '@electric-sql/pglite';
import { sql } from 'drizzle-orm';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { Redis } from 'ioredis';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import type { PlatformDatabase } from './tables.js';

/** The platform's PostgreSQL. */
export interface PlatformStore {
  description: string;
  db: PlatformDatabase;
  /** What the sender is given: its own connections on a server, the one shared instance on PGlite. */
  senderDatabase: DatabaseOption;
  /** For the business tables, for the outbox, and for an outbox that was restored from a backup. */
  schemas: { business: string; outbox: string; restored: string };
  /** Removes all that the demo wrote, then lets go of the database. */
  remove(): Promise<void>;
}

/** The merchant's idempotency store. */
export interface MerchantStore {
  description: string;
  store: Store;
  remove(): Promise<void>;
}

const demoName = `bestnotify_demo_${randomBytes(4).toString('hex')}`;

/** A PostgreSQL server when DATABASE_URL names one, else PGlite in a temporary directory. */
export async function openPlatformStore(databaseUrl = process.env['DATABASE_URL']): Promise<PlatformStore> {
  const schemas = { business: demoName, outbox: `${demoName}_outbox`, restored: `${demoName}_restored` };
  if (databaseUrl === undefined || databaseUrl === '') {
    const directory = await mkdtemp(join(tmpdir(), 'bestnotify-demo-'));
    const instance = await PGlite.create(join(directory, 'database'));
    const db = drizzlePglite(instance);
    const remove = async () => {
      await instance.close();
      await rm(directory, { recursive: true, force: true });
    };
    return { description: 'PGlite in a temporary directory', db, senderDatabase: db, schemas, remove };
  }
  const client = postgres(databaseUrl, { onnotice: () => undefined });
  const db = drizzlePostgres(client);
  const remove = async () => {
    try {
      for (const schema of Object.values(schemas)) {
        await db.execute(sql`drop schema if exists ${sql.identifier(schema)} cascade`);
      }
    } finally {
      await client.end({ timeout: 5 });
    }
  };
  const { host } = new URL(databaseUrl);
  return {
    description: `PostgreSQL at ${host}, schemas ${schemas.business}*`,
    db,
    senderDatabase: databaseUrl,
    schemas,
    remove,
  };
}

/** Redis when REDIS_URL names one, else this process's memory. */
export async function openMerchantStore(redisUrl = process.env['REDIS_URL']): Promise<MerchantStore> {
  if (redisUrl === undefined || redisUrl === '') {
    return { description: 'memory of this process', store: memoryStore(), remove: () => Promise.resolve() };
  }
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: 1 });
  redis.on('error', () => undefined); // each command that fails says so itself
  const { host } = new URL(redisUrl);
  try {
    await redis.ping();
  } catch (cause) {
    redis.disconnect();
    throw new Error(`Redis at ${host} (REDIS_URL) does not answer`, { cause });
  }
  const remove = async () => {
    for await (const keys of redis.scanStream({ match: `${demoName}:*` }) as AsyncIterable<string[]>) {
      if (keys.length > 0) await redis.del(...keys);
    }
    await redis.quit();
  };
  return {
    description: `Redis at ${host}, keys ${demoName}:*`,
    store: redisStore(redis, { prefix: demoName }),
    remove,
  };
}
