import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Cluster, Redis } from 'ioredis';
import { awaitUntil } from '../fixtures/await-until.ts';

/** A redis-server that one test has for itself, so that it may stop it, fill it, or break it. */
export interface OwnRedis extends AsyncDisposable {
  readonly port: number;
  /** Ends the process. `start` brings it back on the same port, with what `appendonly` kept. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  start(): Promise<void>;
  connect(): Redis;
}

const program = process.env['REDIS_SERVER'] ?? 'redis-server';

export async function ownRedis(settings: readonly string[] = []): Promise<OwnRedis> {
  const folder = await mkdtemp(path.join(tmpdir(), 'own-redis-'));
  const port = await freePort();
  const clients: Redis[] = [];
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...settings];
    child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    killAtExit(child);
    let log = '';
    child.on('error', (error) => (log += error.message));
    child.stdout?.on('data', (chunk: Buffer) => (log += chunk.toString()));
    await awaitUntil(`redis-server is ready: ${log}`, () => /ready to accept connections/i.test(log), { everyMs: 5 });
  };
  const stop = async (signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  };
  await start();
  return {
    port,
    start,
    stop,
    connect() {
      const client = new Redis(port, '127.0.0.1', { retryStrategy: () => 20 });
      client.on('error', () => undefined); // the test makes these happen
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.disconnect();
      await stop('SIGKILL');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Three masters of a real Redis Cluster, and a client for them. */
export async function ownRedisCluster(): Promise<AsyncDisposable & { client: Cluster; nodes: readonly OwnRedis[] }> {
  const nodes = await Promise.all([0, 1, 2].map(() => ownRedis(['--cluster-enabled', 'yes'])));
  const admins = nodes.map((node) => node.connect());
  const bounds = [0, 5461, 10923, 16384] as const;
  await Promise.all(
    admins.map((admin, i) => {
      const [from = 0, to = 0] = bounds.slice(i, i + 2);
      return admin.cluster('ADDSLOTS', ...Array.from({ length: to - from }, (_, slot) => from + slot));
    }),
  );
  await Promise.all(admins.slice(1).map((admin) => admin.cluster('MEET', '127.0.0.1', nodes[0]?.port ?? 0)));
  const isWhole = async (admin: Redis): Promise<boolean> => {
    const info = await admin.cluster('INFO');
    return info.includes('cluster_state:ok') && info.includes('cluster_known_nodes:3');
  };
  await awaitUntil('the cluster is whole', async () => (await Promise.all(admins.map(isWhole))).every(Boolean));
  const client = new Cluster(nodes.map(({ port }) => ({ host: '127.0.0.1', port })));
  client.on('error', () => undefined);
  return {
    client,
    nodes,
    async [Symbol.asyncDispose]() {
      client.disconnect();
      await Promise.all(nodes.map((node) => node[Symbol.asyncDispose]()));
    },
  };
}

/** The bus of a cluster node listens 10,000 higher. */
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    if (port <= 55_535) return port;
  }
}

function killAtExit(child: ChildProcess): void {
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('close', () => process.off('exit', kill));
}
