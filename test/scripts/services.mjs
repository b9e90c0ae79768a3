// Real services for tests, benchmarks and demos: PostgreSQL and Redis on free loopback ports, with throw-away data.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endOnInterrupt } from './interrupt.mjs';

const keeperFile = fileURLToPath(new URL('./services/keeper.mjs', import.meta.url));

/**
 * Starts what DATABASE_URL and REDIS_URL do not already name, and says how to reach everything.
 *
 * The services belong to a keeper process that ends them and removes their files as soon as this process calls `stop`,
 * exits, or dies of anything, SIGKILL included. They are not stopped by a Ctrl-C meant for their user.
 *
 * @param options.durable - PostgreSQL as in production (fsync and synchronous commit on): for benchmarks. By default a
 *   crash of the machine may lose data, which tests do not care about.
 * @param options.only - which to start: `'postgres'`, `'redis'`, and `'sink'`, an nginx that answers `success`.
 * @param options.onProgress - told a line about each thing that takes a while, such as an installation.
 */
export async function startServices({ durable = false, only = ['postgres', 'redis'], onProgress = () => {} } = {}) {
  const keeper = spawn(process.execPath, [keeperFile, JSON.stringify({ durable, only })], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true, // its own session: a terminal's Ctrl-C must not reach the services before their users
  });
  const gone = new Promise((resolve) => keeper.once('close', resolve));
  const stop = async () => {
    forget();
    keeper.ref();
    keeper.stdin.end();
    await gone;
  };
  const forget = endOnInterrupt(stop);
  keeper.stdin.on('error', () => {}); // EPIPE: it is gone already
  let trouble = '';
  keeper.stderr.on('data', (chunk) => (trouble += chunk));

  try {
    const facts = await readyFacts(keeper, onProgress, () => trouble);
    for (const handle of [keeper, keeper.stdin, keeper.stdout, keeper.stderr]) handle.unref();
    return { ...facts, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The keeper speaks in JSON lines: any number of `progress`, then `ready` or `failed`. */
async function readyFacts(keeper, onProgress, trouble) {
  for await (const line of createInterface({ input: keeper.stdout })) {
    const { progress, ready, failed } = JSON.parse(line);
    if (progress !== undefined) onProgress(progress);
    if (failed !== undefined) throw new Error(failed);
    if (ready !== undefined) return ready;
  }
  throw new Error(`The services' keeper ended early. ${trouble()}`);
}
