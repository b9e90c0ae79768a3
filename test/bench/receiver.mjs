// npm run bench -- receiver [--rounds n] [--seconds n] [--soak [minutes]]
// Each signed notification is sent once by wrk to servers that each run alone, round after round, so that the machine's drift meets
// all of them alike. The last line is one JSON object.
import { execFile, fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startServices } from '../scripts/services.mjs';
import { requireProgram } from '../scripts/services/programs.mjs';
import { source, to, writeRequests } from './receiver-requests.mjs';
import { soak } from './receiver-soak.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const run = promisify(execFile);
const flag = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at === -1 ? otherwise : Number(process.argv[at + 1] ?? otherwise);
};
const rounds = flag('--rounds', 5);
const seconds = flag('--seconds', 4);
const connections = 64;
const sizes = [
  { name: '1 KiB', sizeBytes: 1024, mostPerSecond: 40_000 },
  { name: '64 KiB', sizeBytes: 64 * 1024, mostPerSecond: 4_000 },
].filter(({ name }) => !process.argv.includes('--only') || process.argv.includes(name));
const kinds = [
  'bare express.json()',
  'receiver on Express',
  'standardwebhooks + node-idempotency',
  'bare node:http',
  'receiver on node:http',
];
const secret = `whsec_${randomBytes(32).toString('base64')}`;

const progress = (line) => console.log(line);
const services = await startServices({ only: ['redis'], onProgress: progress });
const folder = await mkdtemp(path.join(tmpdir(), 'bench-receiver-'));
try {
  if (process.argv.includes('--soak')) {
    await soak({ redisUrl: services.redisUrl, secret, minutes: flag('--soak', 10) || 10, startServer });
  } else {
    await compare();
  }
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await services.stop();
  await rm(folder, { recursive: true, force: true });
}

async function compare() {
  const wrk = await requireProgram({ names: ['wrk'], debianPackage: 'wrk', otherwise: 'Install wrk.', progress });
  const nginx = await requireProgram({
    names: ['nginx'],
    debianPackage: 'nginx-light',
    otherwise: 'Install nginx.',
    progress,
  });
  const summary = { bench: 'receiver' };
  let isValid = true;
  for (const size of sizes) {
    const limit = await withSink(nginx, (port) => measure({ wrk, port, size, name: 'limit' }));
    console.log(`\n${size.name}: wrk alone, into nginx: ${Math.round(limit.perSecond)}/s`);
    const results = new Map(kinds.map((kind) => [kind, []]));
    for (let round = 1; round <= rounds; round += 1) {
      for (const kind of kinds) {
        const server = await startServer(kind);
        await measure({ wrk, port: server.port, size, name: 'warm-up', forSeconds: 3 });
        const before = await server.facts();
        const result = await measure({ wrk, port: server.port, size, name: 'round' });
        const after = await server.facts();
        await server.stop();
        if (result.failed > result.requests * 0.01 || after.handled - before.handled < result.requests * 0.98) {
          throw new Error(
            `${kind}: ${result.failed} failed, ${after.handled - before.handled} handled of ${result.requests}`,
          );
        }
        results.get(kind).push(result.perSecond);
        const cpuUs = Math.round((after.cpuUs - before.cpuUs) / result.requests);
        console.log(
          `  round ${round} ${kind.padEnd(36)} ${String(Math.round(result.perSecond)).padStart(6)}/s  p50 ${result.p50us} us  p99 ${result.p99us} us  processor ${cpuUs} us`,
        );
      }
    }
    const median = Object.fromEntries(kinds.map((kind) => [kind, medianOf(results.get(kind))]));
    for (const kind of kinds) {
      const headroom = limit.perSecond / median[kind];
      console.log(
        `  median  ${kind.padEnd(36)} ${String(Math.round(median[kind])).padStart(6)}/s${headroom < 2 ? `  INVALID: wrk has only ${headroom.toFixed(1)} times as much` : ''}`,
      );
      if (headroom < 2) isValid = false;
    }
    const key = size.name === '1 KiB' ? (name) => name : (name) => `${name}64k`;
    summary[key('ratio')] = ratio(median['receiver on Express'], median['bare express.json()']);
    summary[key('nodeHttpRatio')] = ratio(median['receiver on node:http'], median['bare node:http']);
    summary[key('peerRatio')] = ratio(median['receiver on Express'], median['standardwebhooks + node-idempotency']);
    summary[key('perSecond')] = Math.round(median['receiver on Express']);
    summary[key('generatorPerSecond')] = Math.round(limit.perSecond);
  }
  console.log(JSON.stringify({ ...summary, valid: isValid }));
}

async function measure({ wrk, port, size, name, forSeconds = seconds }) {
  const count = size.mostPerSecond * (forSeconds + 1);
  const { linesFile, tailFile, head } = await writeRequests({ folder, name, sizeBytes: size.sizeBytes, count, secret });
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${forSeconds}s`,
    '-s',
    path.join(here, 'receiver-wrk.lua'),
    `http://127.0.0.1:${port}`,
    '--',
    linesFile,
    tailFile,
    head,
  ];
  const { stdout } = await run(wrk, args);
  const result = JSON.parse(/RESULT (.*)/.exec(stdout)?.[1] ?? '{}');
  if (!(result.requests < count)) throw new Error(`wrk used up its ${count} notifications: ${stdout}`);
  return { ...result, perSecond: (result.requests / result.microseconds) * 1e6 };
}

async function startServer(kind) {
  const child = fork(path.join(here, 'receiver-server.mjs'), [kind, source, to, secret, services.redisUrl], {
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
    },
  };
}

/** nginx reads each request and answers at once: what is left is the generator's own limit. */
async function withSink(nginx, use) {
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

function medianOf(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function ratio(ours, theirs) {
  return Math.round((ours / theirs) * 1000) / 1000;
}
