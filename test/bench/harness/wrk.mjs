import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runQuietly } from '../../scripts/run-quietly.mjs';
import { requireProgram } from '../../scripts/services/programs.mjs';
import { frame, script } from './wrk-script.mjs';

/**
 * Loads one server with wrk.
 *
 * @param load.requests - raw HTTP requests, sent in turn and shared among the threads; made by {@link rawRequest}. When
 *   they run out they start again, and `isRepeated` says so.
 * @returns requests `perSecond`, `p50Ms` and `p99Ms`, how many had `badStatuses` (not 2xx or 3xx) or `socketErrors`.
 */
export async function runWrk({ url, requests, seconds = 5, connections = 64, threads = 1 }) {
  const wrk = await requireProgram({
    names: ['wrk'],
    debianPackage: 'wrk',
    otherwise: 'Install wrk: a load generator written in JavaScript would be the limit of what is measured.',
    progress: (line) => console.error(line),
  });
  const dir = await mkdtemp(path.join(tmpdir(), 'bestnotify-wrk-'));
  try {
    const requestsFile = path.join(dir, 'requests');
    const scriptFile = path.join(dir, 'script.lua');
    await writeFile(requestsFile, frame(requests));
    await writeFile(scriptFile, script(requestsFile, threads));
    const output = await runQuietly(wrk, [`-t${threads}`, `-c${connections}`, `-d${seconds}s`, '-s', scriptFile, url]);
    return parse(output);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** The bytes of one POST. */
export function rawRequest({ url, headers = {}, body }) {
  const { host, pathname, search } = new URL(url);
  const all = { host, 'content-length': Buffer.byteLength(body), ...headers };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`POST ${pathname}${search} HTTP/1.1\r\n${head.join('')}\r\n`), Buffer.from(body)]);
}

function parse(output) {
  const [, json] = /^RESULT (.*)$/m.exec(output) ?? [];
  if (json === undefined) throw new Error(`wrk printed no result:\n${output}`);
  const { requests, micros, p50Micros, p99Micros, ...facts } = JSON.parse(json);
  return {
    perSecond: Math.round(requests / (micros / 1_000_000)),
    p50Ms: p50Micros / 1_000,
    p99Ms: p99Micros / 1_000,
    ...facts,
  };
}
