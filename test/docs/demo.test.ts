import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import postgres from 'postgres';
import { expect, test } from 'vitest';
import { requiredEnv } from '../fixtures/required-env.ts';

const run = promisify(execFile);
const main = fileURLToPath(new URL('../../examples/payment-platform/dist/main.js', import.meta.url));
const dieWithParent = new URL('../fixtures/die-with-parent.mjs', import.meta.url).href;

/** What the story does, counted by hand from `story.ts`. */
const tally = {
  delivered: 7,
  dead: 1,
  resent: 1,
  duplicatesAbsorbed: 1,
  conflictsRefused: 2,
  effects: 7,
  lost: 0,
};

const stores = [
  { name: 'PGlite and memory', env: { DATABASE_URL: '', REDIS_URL: '' } },
  { name: 'PostgreSQL and Redis', env: {} },
];

for (const { name, env } of stores) {
  test(
    `the demo over ${name} loses nothing, and its last line counts what happened`,
    { timeout: 120_000 },
    async () => {
      await using scratch = await freshTemporaryDirectory();
      const { stdout } = await run(process.execPath, [main, '--once'], {
        env: { ...process.env, ...env, TMPDIR: scratch.directory },
      });
      const lines = stdout.trimEnd().split('\n');
      expect(JSON.parse(lines.at(-1) ?? '')).toEqual(tally);
      expect(stdout).not.toContain('\u001b['); // colour is for terminals
      expect(await readdir(scratch.directory)).toEqual([]);
      expect(await leftovers()).toEqual([]);
    },
  );
}

test(
  'after its story the demo stays up, every command it names works, and it stops without a trace',
  { timeout: 120_000 },
  async () => {
    await using scratch = await freshTemporaryDirectory();
    const child = spawn(process.execPath, ['--import', dieWithParent, main], {
      env: { ...process.env, TMPDIR: scratch.directory },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
    const commands: string[] = [];
    for await (const line of createInterface({ input: child.stdout! })) {
      if (line.includes('curl ')) commands.push(line.slice(line.indexOf('curl ')));
      if (line.includes('Ctrl-C stops')) break;
    }
    expect(commands).toHaveLength(7);
    let id = '';
    for (const command of commands) {
      const { stdout } = await run('sh', ['-c', `${command.replace('<id>', id)} --fail-with-body --silent`]);
      id = /ntf_[\w-]+/.exec(stdout)?.[0] ?? id;
    }
    child.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(await readdir(scratch.directory)).toEqual([]);
    expect(await leftovers()).toEqual([]);
  },
);

async function freshTemporaryDirectory(): Promise<AsyncDisposable & { directory: string }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'demo-test-'));
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

/** Schemas and keys that a demo has not removed. */
async function leftovers(): Promise<string[]> {
  const sql = postgres(requiredEnv('DATABASE_URL'), { max: 1 });
  const redis = new Redis(requiredEnv('REDIS_URL'));
  try {
    const schemas = await sql<{ name: string }[]>`
      select nspname as name from pg_namespace where nspname like 'bestnotify_demo_%'`;
    return [...schemas.map(({ name }) => name), ...(await redis.keys('bestnotify_demo_*'))];
  } finally {
    await sql.end();
    redis.disconnect();
  }
}
