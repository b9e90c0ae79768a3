// Not to be imported before the dependencies are installed.
import { Redis } from 'ioredis';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { Client } from 'pg';

/** One line for the reader of a run: which PostgreSQL, Redis and PGlite it ran on. */
export async function describeServices({ databaseUrl, redisUrl }) {
  const versions = [
    await ask('DATABASE_URL', 'PostgreSQL', postgresVersion(databaseUrl)),
    await ask('REDIS_URL', 'Redis', redisVersion(redisUrl)),
    pgliteVersion(),
  ];
  return versions.join(', ');
}

/** A service that we did not start may not answer; then the reader must know which variable led us there. */
async function ask(variable, kind, version) {
  return version.catch((cause) => {
    const why = cause.code ?? cause.message;
    throw new Error(`No answer from ${kind} (${why}). Start what ${variable} names, or unset it to have one started.`);
  });
}

async function postgresVersion(url) {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query('show server_version').finally(() => client.end());
  return `PostgreSQL ${rows[0].server_version}`;
}

async function redisVersion(url) {
  const client = new Redis(url, { lazyConnect: true, retryStrategy: null });
  client.on('error', () => {}); // it also fails what waits for it
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
