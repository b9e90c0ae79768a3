import { createHash, randomBytes, randomUUID } from 'node:crypto';
import {
  memoryStore,
  postgresInbox,
  redisStore,
  type ClaimRequest,
  type RecordedIn,
  type Store,
} from '@bestnotify/receiver';
import type { Cluster } from 'ioredis';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { freshSchema } from '../fixtures/postgres.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { ownRedisCluster } from './own-redis.ts';

/** A store of one kind, empty, with the two things a test may do to it that a receiver never does. */
export interface StoreUnderTest extends AsyncDisposable {
  readonly store: Store;
  /** Lets time pass by ageing what is stored: every lease is over. Nothing sleeps, no clock is stepped. */
  endLeases(): Promise<void>;
  /** What a handler's transaction does; for stores without an inbox there is nothing to do. */
  commitEffect(request: ClaimRequest): Promise<RecordedIn>;
}

export interface StoreKind {
  readonly name: string;
  /** Starts what the whole file shares. */
  readonly open: () => Promise<StoreUnderTest>;
}

export const storeKinds: readonly StoreKind[] = [
  { name: 'memory', open: openMemory },
  { name: 'Redis', open: openRedis },
  { name: 'Redis Cluster', open: openCluster },
  { name: 'postgresInbox', open: openInbox },
];

const day = 24 * 60 * 60 * 1000;
export const leaseMs = 30_000;

/** A claim request with all its fields, of which a test names those it is about. */
export function requestFor(
  changes: Partial<ClaimRequest> & { bizId?: string; type?: string; body?: string } = {},
): ClaimRequest {
  const { bizId = randomUUID(), type = 'payment.success', body = 'the payload', ...rest } = changes;
  return {
    key: { source: 'acme-pay', to: 'merchant-42', type, bizId },
    digest: createHash('sha256').update(body).digest('hex'),
    token: randomUUID(),
    leaseMs,
    retentionMs: 7 * day,
    ...rest,
  };
}

/** The same event, asked for by another run. */
export function again(request: ClaimRequest, changes: Partial<ClaimRequest> = {}): ClaimRequest {
  return { ...request, token: randomUUID(), ...changes };
}

export function digestOf(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}

async function openMemory(): Promise<StoreUnderTest> {
  let nowMs = 1_000;
  const store = memoryStore({}, { nowMs: () => nowMs });
  return Promise.resolve({
    store,
    endLeases() {
      nowMs += leaseMs;
      return Promise.resolve();
    },
    commitEffect: () => Promise.resolve('recorded'),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  });
}

function freshPrefix(): string {
  return `test:${randomBytes(8).toString('hex')}`;
}

async function openRedis(): Promise<StoreUnderTest> {
  const client = new Redis(requiredEnv('REDIS_URL'));
  const prefix = freshPrefix();
  return Promise.resolve({
    store: redisStore(client, { prefix }),
    endLeases: () => endRedisLeases([client], client, prefix),
    commitEffect: () => Promise.resolve('recorded'),
    async [Symbol.asyncDispose]() {
      const keys = await client.keys(`${prefix}:*`);
      if (keys.length > 0) await client.unlink(keys);
      client.disconnect();
    },
  });
}

async function openCluster(): Promise<StoreUnderTest> {
  const cluster = await ownRedisCluster();
  const prefix = freshPrefix();
  return {
    store: redisStore(cluster.client, { prefix }),
    endLeases: () => endRedisLeases(cluster.client.nodes('master'), cluster.client, prefix),
    commitEffect: () => Promise.resolve('recorded'),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}

/** A record is `R digest token leaseEnd fence attempt`, a guard `token leaseEnd newest fence`: the moment becomes 1970. */
async function endRedisLeases(nodes: readonly Redis[], client: Redis | Cluster, prefix: string): Promise<void> {
  const keys = (await Promise.all(nodes.map((node) => node.keys(`${prefix}:*`)))).flat();
  await Promise.all(
    keys.map(async (key) => {
      const value = (await client.get(key)) ?? '';
      const parts = value.split(' ');
      const moment = parts.length === 6 ? 3 : 1;
      if (parts.length === 6 && parts[0] !== 'R') return;
      parts[moment] = '1';
      await client.set(key, parts.join(' '), 'KEEPTTL');
    }),
  );
}

async function openInbox(): Promise<StoreUnderTest> {
  const schema = await freshSchema();
  const pool = new Pool({ connectionString: schema.url, max: 4 });
  const store = postgresInbox({ database: pool, schema: schema.schema });
  await store.migrate();
  return {
    store,
    async endLeases() {
      await schema.query(
        `update bestnotify_inbox_lease set lease_ends_at = clock_timestamp() - interval '1 ms' where token is not null`,
      );
    },
    async commitEffect(request) {
      const client = await pool.connect();
      try {
        await client.query('begin');
        const found = await store.recordIn(client, request);
        await client.query(found === 'recorded' ? 'commit' : 'rollback');
        return found;
      } catch (error) {
        await client.query('rollback');
        throw error;
      } finally {
        client.release();
      }
    },
    async [Symbol.asyncDispose]() {
      await pool.end();
      await schema[Symbol.asyncDispose]();
    },
  };
}
