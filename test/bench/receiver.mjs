// npm run bench -- receiver [--rounds n] [--seconds n] [--connections n] [--only1k] [--soak [minutes]]
// Each signed notification is sent once by wrk to servers that each run alone, round after round, so that the machine's drift meets
// all of them alike. The last line is one JSON object.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startServices } from '../scripts/services.mjs';
import { requireProgram } from '../scripts/services/programs.mjs';
import { printConditions } from './harness/conditions.mjs';
import { median, medianRatio } from './harness/rounds.mjs';
import { load, startServer, withSink } from './receiver-processes.mjs';
import { writeRequests } from './receiver-requests.mjs';
import { soak } from './receiver-soak.mjs';

const flag = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at === -1 ? otherwise : Number(process.argv[at + 1] ?? otherwise);
};
const rounds = flag('--rounds', 4);
const seconds = flag('--seconds', 2);
const warmUpSeconds = 2; // wrk takes whole seconds
const connections = flag('--connections', 64);
const neededHeadroom = 2;
const staleAfterMs = 200_000; // a signature is good for 300 s
const sizes = [
  { key: '', name: '1 KiB', sizeBytes: 1024, mostPerSecond: 100_000 },
  { key: '64k', name: '64 KiB', sizeBytes: 64 * 1024, mostPerSecond: 12_000 },
].filter(({ key }) => key === '' || !process.argv.includes('--only1k'));
const kinds = {
  bareExpress: 'bare express.json()',
  onExpress: 'receiver on Express',
  peer: 'standardwebhooks + node-idempotency',
  bareNode: 'bare node:http',
  onNode: 'receiver on node:http',
};
const secret = `whsec_${randomBytes(32).toString('base64')}`;

const progress = (line) => console.log(line);
const services = await startServices({ only: ['redis'], onProgress: progress });
const folder = await mkdtemp(path.join(tmpdir(), 'bench-receiver-'));
const start = (kind) => startServer(kind, { secret, redisUrl: services.redisUrl });
try {
  if (process.argv.includes('--soak')) await soak({ secret, minutes: flag('--soak', 10) || 10, startServer: start });
  else await compare();
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await services.stop();
  await rm(folder, { recursive: true, force: true });
}

async function compare() {
  const wrk = await requireProgram({ names: ['wrk'], debianPackage: 'wrk', otherwise: 'Install wrk.', progress });
  const nginxFrom = { names: ['nginx'], debianPackage: 'nginx-light', otherwise: 'Install nginx.', progress };
  const nginx = await requireProgram(nginxFrom);
  await printConditions();
  const summary = { bench: 'receiver' };
  for (const size of sizes) {
    const requests = requestsOf(size);
    const limit = await generatorLimit({ wrk, nginx, size, requests });
    const rates = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, []]));
    for (let round = 1; round <= rounds; round += 1) {
      const order = Object.keys(kinds);
      for (const kind of round % 2 === 1 ? order : order.toReversed()) {
        rates[kind].push(await measure({ wrk, kind, requests, round }));
      }
    }
    const verdicts = Object.entries(rates).map(([kind, list]) => hasHeadroom(kind, median(list), limit));
    summary[`ratio${size.key}`] = medianRatio(rates.onExpress, rates.bareExpress);
    summary[`nodeHttpRatio${size.key}`] = medianRatio(rates.onNode, rates.bareNode);
    summary[`peerRatio${size.key}`] = medianRatio(rates.onExpress, rates.peer);
    summary[`perSecond${size.key}`] = Math.round(median(rates.onExpress));
    summary[`generatorPerSecond${size.key}`] = Math.round(limit);
    summary[`valid${size.key}`] = verdicts.every(Boolean);
  }
  console.log(JSON.stringify(summary));
}

/** Writes the requests of one size, and again when their signatures have grown old. No server sees them twice. */
function requestsOf({ sizeBytes, mostPerSecond }) {
  const write = (name, forSeconds) =>
    writeRequests({ folder, name, sizeBytes, secret, count: Math.ceil(mostPerSecond * forSeconds) });
  let written;
  return async () => {
    if (written === undefined || performance.now() - written.main.writtenAtMs > staleAfterMs) {
      written = { warmUp: await write('warm-up', warmUpSeconds), main: await write('main', seconds + 0.5) };
    }
    return written;
  };
}

/**
 * What wrk could send if the other side cost nothing: what it sent into nginx, over the share of its core that it needed for that.
 * nginx is the slower of the two where this is more than what was sent.
 */
async function generatorLimit({ wrk, nginx, size, requests }) {
  const { main } = await requests();
  const { perSecond, generatorShare } = await withSink({ nginx, folder }, (port) =>
    load({ wrk, port, requests: { ...main, count: Infinity }, connections, seconds: 2 }),
  );
  const limit = perSecond / Math.min(1, generatorShare);
  console.log(
    `\n${size.name}: wrk sends ${Math.round(perSecond)}/s into nginx with ${Math.round(generatorShare * 100)} % of a core, so its limit is ${Math.round(limit)}/s`,
  );
  return limit;
}

async function measure({ wrk, kind, requests, round }) {
  const { warmUp, main } = await requests();
  const server = await start(kinds[kind]);
  await load({ wrk, port: server.port, requests: warmUp, connections, seconds: warmUpSeconds });
  const before = await server.facts();
  const result = await load({ wrk, port: server.port, requests: main, connections, seconds });
  const after = await server.facts();
  await server.stop();
  const handled = after.handled - before.handled;
  if (result.failed > result.requests * 0.01 || handled < result.requests * 0.98) {
    throw new Error(`${kinds[kind]}: ${result.failed} failed, ${handled} handled of ${result.requests}`);
  }
  const cpuUs = Math.round((after.cpuUs - before.cpuUs) / result.requests);
  console.log(
    `  round ${round} ${named(kind, result.perSecond)}  p50 ${result.p50us} us  p99 ${result.p99us} us  processor ${cpuUs} us  wrk ${Math.round(result.generatorShare * 100)} % of a core`,
  );
  return result.perSecond;
}

function hasHeadroom(kind, perSecond, limit) {
  const headroom = limit / perSecond;
  const isEnough = headroom >= neededHeadroom;
  const verdict = isEnough ? '' : `  INVALID: wrk has only ${headroom.toFixed(1)} times as much`;
  console.log(`  median  ${named(kind, perSecond)}${verdict}`);
  return isEnough;
}

function named(kind, perSecond) {
  return `${kinds[kind].padEnd(36)} ${String(Math.round(perSecond)).padStart(6)}/s`;
}
