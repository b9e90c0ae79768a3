import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { postgresInbox, redisStore } from '@bestnotify/receiver';
import { Redis } from 'ioredis';
import { Pool } from 'pg';
import { expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { freshSchema } from '../fixtures/postgres.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { genuine, line, receiverFor, secret } from './merchant.ts';

const kills = 100;
const atOnce = 4;
const script = fileURLToPath(new URL('../children/receiver-killed.mjs', import.meta.url));
const dieWithParent = new URL('../fixtures/die-with-parent.mjs', import.meta.url).href;

/** Lets a process of its own make the effect of one notification and die before it can say so. */
async function handleThenDie(env: Record<string, string>, bizId: string): Promise<void> {
  const child: ChildProcess = fork(script, {
    execArgv: ['--import', dieWithParent],
    env: { ...process.env, ...env },
  });
  await once(child, 'message');
  const { headers, body } = genuine({ bizId });
  child.send({ headers, body: body.toString('base64') });
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  expect(signal).toBe('SIGKILL');
}

async function killMany(
  count: number,
  env: Record<string, string>,
  again: (bizId: string) => Promise<void>,
): Promise<void> {
  const ids = Array.from({ length: count }, (_, i) => `PAY-${i}`);
  const next = ids[Symbol.iterator]();
  const lane = async (): Promise<void> => {
    for (const bizId of next) {
      await handleThenDie(env, bizId);
      await again(bizId);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

test(
  `a process killed between commit and reply, ${kills} times, with postgresInbox: ${kills} effects, and every repeat says duplicate (R061 R070)`,
  { timeout: 120_000 },
  async () => {
    await using schema = await freshSchema();
    await schema.query('create table effect (biz_id text not null)');
    const pool = new Pool({ connectionString: schema.url, max: 4 });
    const store = postgresInbox({ database: pool, schema: schema.schema });
    await store.migrate();
    const survivor = receiverFor({
      store,
      leaseMs: 400,
      heartbeatMs: 100,
      handler: async ({ bizId }, ctx) => {
        const tx = await pool.connect();
        try {
          await tx.query('begin');
          await tx.query(`insert into ${schema.schema}.effect (biz_id) values ($1)`, [bizId]);
          await ctx.inbox(tx);
          await tx.query('commit');
        } catch (error) {
          await tx.query('rollback');
          throw error;
        } finally {
          tx.release();
        }
      },
    });
    const env = { DATABASE_URL: schema.url, SCHEMA: schema.schema, SECRET: secret };
    await killMany(kills, env, async (bizId) => {
      expect(line(await survivor.handle(genuine({ bizId })))).toBe('200 success duplicate');
    });
    const [row] = await schema.query<{ effects: string }>('select count(*) as effects from effect');
    expect(Number(row?.effects)).toBe(kills);
    await pool.end();
  },
);

test(
  `the same with Redis alone shows its limit: ${kills} handlers run again, told that it is attempt 2, as the docs say`,
  { timeout: 120_000 },
  async () => {
    const redis = new Redis(requiredEnv('REDIS_URL'));
    const prefix = `test:${randomUUID()}`;
    const survivor = receiverFor({
      store: redisStore(redis, { prefix }),
      handler: async ({ bizId }, { attempt }) => {
        expect(attempt).toBe(2);
        await redis.incr(`${prefix}:effect:${bizId}`);
      },
    });
    await killMany(kills, { REDIS_URL: requiredEnv('REDIS_URL'), PREFIX: prefix, SECRET: secret }, async (bizId) => {
      await awaitUntil('the lease of the dead is over', async () => {
        const answer = line(await survivor.handle(genuine({ bizId })));
        expect(['409 fail in-progress', '200 success handled']).toContain(answer);
        return answer === '200 success handled';
      });
    });
    const keys = await redis.keys(`${prefix}:effect:*`);
    expect(await redis.mget(keys)).toEqual(Array.from({ length: kills }, () => '2'));
    await redis.unlink(await redis.keys(`${prefix}:*`));
    redis.disconnect();
  },
);
