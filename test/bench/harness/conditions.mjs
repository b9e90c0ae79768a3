import { availableParallelism, cpus, loadavg, release } from 'node:os';
import { Client } from 'pg';

/** Says what a number was measured on; without that it means nothing. Give no `databaseUrl` when none is used. */
export async function printConditions({ databaseUrl } = {}) {
  const [{ model } = { model: 'unknown' }] = cpus();
  const [load] = loadavg();
  console.log(
    `Node ${process.versions.node}, ${availableParallelism()} × ${model.trim()}, ${process.platform} ${release()}`,
  );
  console.log(`load average before the run: ${load.toFixed(1)}${load > 0.5 ? ' (something else is running)' : ''}`);
  if (databaseUrl !== undefined) console.log(await describePostgres(databaseUrl));
}

async function describePostgres(url) {
  const client = new Client(url);
  await client.connect();
  const { rows } = await client
    .query(`select name, setting from pg_settings where name in ('server_version', 'fsync', 'synchronous_commit')`)
    .finally(() => client.end());
  const settings = Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
  return `PostgreSQL ${settings.server_version}, fsync ${settings.fsync}, synchronous_commit ${settings.synchronous_commit}`;
}
