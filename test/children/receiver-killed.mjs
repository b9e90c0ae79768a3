// A merchant's process for test/receiver/killed.test.ts: makes the effect of one notification, then dies before it can reply.
import { createReceiver, postgresInbox, redisStore } from '@bestnotify/receiver';

const { DATABASE_URL, REDIS_URL, SCHEMA, PREFIX, SECRET } = process.env;
const { store, handler } = PREFIX === undefined ? await withInbox() : await withRedis();
const options = { source: 'acme-pay', to: 'merchant-42', secrets: SECRET, leaseMs: 400, heartbeatMs: 100 };
const receiver = createReceiver({ ...options, store, handler });

async function withInbox() {
  const { Pool } = await import('pg');
  const pool = new Pool({ connectionString: DATABASE_URL, max: 3, options: `-c search_path=${SCHEMA}` });
  const handler = async ({ bizId }, ctx) => {
    const tx = await pool.connect();
    await tx.query('begin');
    await tx.query('insert into effect (biz_id) values ($1)', [bizId]);
    await ctx.inbox(tx);
    await tx.query('commit');
    die();
  };
  return { store: postgresInbox({ database: pool, schema: SCHEMA }), handler };
}

async function withRedis() {
  const { Redis } = await import('ioredis');
  const redis = new Redis(REDIS_URL);
  const handler = async ({ bizId }) => {
    await redis.incr(`${PREFIX}:effect:${bizId}`);
    die();
  };
  return { store: redisStore(redis, { prefix: PREFIX }), handler };
}

function die() {
  process.kill(process.pid, 'SIGKILL');
}

process.on('message', ({ headers, body }) => {
  void receiver.handle({ method: 'POST', headers, body: Buffer.from(body, 'base64') });
});
setInterval(() => {}, 1_000); // waits for its notification, whatever else is open
process.send('ready');
