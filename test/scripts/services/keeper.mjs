// Owns the services for another process: it lives as long as its stdin, which ends however that process ends.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { killLeftovers } from './leftovers.mjs';
import { startNginx } from './nginx.mjs';
import { startPostgres } from './postgres.mjs';
import { startRedis } from './redis.mjs';
import { isTraversableByAll } from './unprivileged.mjs';

const { durable, only } = JSON.parse(process.argv[2]);
const tell = (fact) => process.stdout.write(`${JSON.stringify(fact)}\n`);
const progress = (line) => tell({ progress: line });
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {}); // nobody listens any more
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.stdin.destroy());

const ownerGone = new Promise((resolve) => process.stdin.once('end', resolve).once('close', resolve));
process.stdin.on('error', () => {}).resume();

// A per-user temporary folder shuts out the unprivileged user that PostgreSQL runs as.
const scratchDir = mkdtempSync(path.join(isTraversableByAll(tmpdir()) ? tmpdir() : '/tmp', 'bestnotify-'));
chmodSync(scratchDir, 0o711);

const running = [];
const start = async (name, given, starter) => {
  if (given) return given;
  if (!only.includes(name)) return undefined;
  const service = await starter({ scratchDir, durable, progress });
  running.push(service);
  return service.url;
};
try {
  const starts = await Promise.allSettled([
    start('postgres', process.env['DATABASE_URL'], startPostgres),
    start('redis', process.env['REDIS_URL'], startRedis),
    start('sink', undefined, startNginx),
  ]);
  const failure = starts.find(({ status }) => status === 'rejected');
  if (failure) throw failure.reason;
  const [databaseUrl, redisUrl, sinkUrl] = starts.map(({ value }) => value);
  tell({ ready: { databaseUrl, redisUrl, sinkUrl, scratchDir } });
  await ownerGone;
} catch (error) {
  tell({ failed: error.message });
} finally {
  await Promise.allSettled(running.map((service) => service.stop()));
  killLeftovers(scratchDir);
  rmSync(scratchDir, { recursive: true, force: true });
}
