import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { freePort, startServer } from './child.mjs';
import { requireProgram } from './programs.mjs';

/** A Redis of its own that keeps nothing on disk. */
export async function startRedis({ scratchDir, progress }) {
  const program = await requireProgram({
    names: ['redis-server', 'valkey-server'],
    debianPackage: 'redis-server',
    otherwise: 'Install Redis (or Valkey), or set REDIS_URL to one that runs.',
    progress,
  });
  const dir = path.join(scratchDir, 'redis');
  mkdirSync(dir);
  const port = await freePort();
  const { stop } = await startServer(
    program,
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'],
    { ready: /ready to accept connections/i, stopSignals: ['SIGTERM'] },
  );
  return { url: `redis://127.0.0.1:${port}`, stop };
}
