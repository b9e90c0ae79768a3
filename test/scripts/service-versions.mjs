// Not to be imported before the dependencies are installed.
import { Redis } from 'ioredis';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Client } from 'pg';

/** One line for the reader of a run: which PostgreSQL, Redis and PGlite it ran on. */
export async function describeServices({ databaseUrl, redisUrl }) {
  return [await postgresVersion(databaseUrl), await redisVersion(redisUrl), pgliteVersion()].join(', ');
}

export async function postgresVersion(url) {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query('show server_version').finally(() => client.end());
  return `PostgreSQL ${rows[0].server_version}`;
}

async function redisVersion(url) {
  const client = new Redis(url, { lazyConnect: true });
  await client.connect();
  const info = await client.info('server').finally(() => client.disconnect());
  const [, name, version] = /^(valkey|redis)_version:(\S+)/m.exec(info);
  return `${name === 'redis' ? 'Redis' : 'Valkey'} ${version}`;
}

function pgliteVersion() {
  const entry = createRequire(import.meta.url).resolve('@electric-sql/pglite');
  const { version } = JSON.parse(readFileSync(path.join(path.dirname(entry), '..', 'package.json'), 'utf8'));
  return `PGlite ${version}`;
}
