// The processes of the receiver benchmark: a server under test, wrk, and an nginx that stands in for a server to know wrk's own limit.
import { execFile, fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { source, to } from './receiver-requests.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);

/** Starts one server in a process of its own, with keys of its own in Redis, which `stop` removes. */
export async function startServer(kind, { secret, redisUrl }) {
  const prefix = `bench-${randomUUID()}`;
  const child = fork(path.join(here, 'receiver-server.mjs'), [kind, source, to, secret, redisUrl, prefix], {
    env: { ...process.env, NODE_ENV: 'production' },
  });
  const [{ port }] = await once(child, 'message');
  return {
    port,
    async facts() {
      child.send('facts');
      return (await once(child, 'message'))[0];
    },
    async stop() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
      await forget(redisUrl, prefix);
    },
  };
}

async function forget(redisUrl, prefix) {
  const redis = new Redis(redisUrl);
  for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 5_000 })) {
    if (keys.length > 0) await redis.unlink(keys);
  }
  await redis.quit();
}

/**
 * Loads one server with requests that were written before.
 *
 * @returns `requests`, `failed`, `perSecond`, the latencies `p50us` and `p99us`, and `generatorShare`: how much of one core wrk used.
 */
export async function load({ wrk, port, requests, connections, seconds }) {
  const { file, lengthBytes, tailFile, count } = requests;
  const script = path.join(here, 'receiver-wrk.lua');
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, `http://127.0.0.1:${port}`];
  const timed = [
    '-c',
    `TIMEFORMAT='CPU %U %S'; time "$@"`,
    'wrk',
    wrk,
    ...args,
    '--',
    file,
    String(lengthBytes),
    tailFile,
  ];
  const { stdout, stderr } = await run('bash', timed);
  const result = JSON.parse(/RESULT (.*)/.exec(stdout)?.[1] ?? '{}');
  const [, user, system] = /CPU ([\d.]+) ([\d.]+)/.exec(stderr) ?? [];
  if (!(result.requests < count)) throw new Error(`wrk used up its ${count} notifications: ${stdout}${stderr}`);
  const measuredSeconds = result.microseconds / 1e6;
  const generatorShare = (Number(user) + Number(system)) / measuredSeconds;
  return { ...result, perSecond: result.requests / measuredSeconds, generatorShare };
}

/** nginx reads each request and answers at once. */
export async function withSink({ nginx, folder }, use) {
  const port = await freePort();
  const config = path.join(folder, 'nginx.conf');
  await writeFile(
    config,
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log /dev/null; events { worker_connections 512; }
http { access_log off; client_max_body_size 1m; client_body_buffer_size 1m; keepalive_requests 100000000;
  client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
  server { listen 127.0.0.1:${port}; location / { default_type text/plain; return 200 'success'; } } }`,
  );
  const child = spawn(nginx, ['-p', folder, '-c', config], { stdio: 'ignore' });
  try {
    await new Promise((resolve) => setTimeout(resolve, 500));
    return await use(port);
  } finally {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    await closed;
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
