import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { databases } from '../fixtures/databases.ts';
import { awaitUntil } from '../fixtures/await-until.ts';
import { freshOutbox, source, type Outbox } from '../sender/fresh-outbox.ts';

export const bin = fileURLToPath(new URL('../../packages/cli/dist/bin.js', import.meta.url));
const dieWithParent = new URL('../fixtures/die-with-parent.mjs', import.meta.url).href;
if (!existsSync(bin)) throw new Error('These tests run the built command. Run `npm run build` first.');

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What stdin holds; without it, stdin is at its end. */
  readonly input?: string | Uint8Array;
}

export interface Running extends AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly stdout: string;
  readonly stderr: string;
  readonly ended: Promise<Ended>;
  /** Waits for a text on either stream, and returns its match. */
  says(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
}

/** Starts the built command in a process of its own. */
export function start(args: readonly string[], { env = {}, input = '' }: RunOptions = {}): Running {
  const child = spawn(process.execPath, ['--import', dieWithParent, bin, ...args], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  }) as ChildProcessWithoutNullStreams;
  const chunks: { stdout: Buffer[]; stderr: Buffer[] } = { stdout: [], stderr: [] };
  child.stdout.on('data', (chunk: Buffer) => chunks.stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.stderr.push(chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const text = (stream: 'stdout' | 'stderr') => Buffer.concat(chunks[stream]).toString();
  let isOver = false;
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => {
      isOver = true;
      resolve({ code, signal, stdout: text('stdout'), stderr: text('stderr') });
    });
  });
  return {
    child,
    get stdout() {
      return text('stdout');
    },
    get stderr() {
      return text('stderr');
    },
    ended,
    async says(pattern, timeoutMs = 20_000) {
      const find = () => pattern.exec(text('stdout')) ?? pattern.exec(text('stderr'));
      await awaitUntil(`${args.join(' ')} says ${String(pattern)}`, () => isOver || find() !== null, { timeoutMs });
      const found = find();
      if (found === null)
        throw new Error(`${args.join(' ')} ended before it said ${String(pattern)}: ${text('stderr')}`);
      return found;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** The built command over an outbox of its own. */
export interface CommandLine extends AsyncDisposable {
  readonly outbox: Outbox;
  readonly env: Readonly<Record<string, string>>;
  start(args: readonly string[], options?: RunOptions): Running;
  /** Runs it to its end. */
  run(args: readonly string[], options?: RunOptions): Promise<Ended>;
  /** Runs it with `--json`, expects 0, and reads the lines of stdout. */
  lines(args: readonly string[], options?: RunOptions): Promise<Record<string, unknown>[]>;
}

export async function freshCommandLine(): Promise<CommandLine> {
  const postgres = databases.find(({ name }) => name === 'PostgreSQL')!;
  const outbox = await freshOutbox(postgres.open);
  const env = {
    DATABASE_URL: outbox.database as string,
    BESTNOTIFY_SOURCE: source,
    BESTNOTIFY_SCHEMA: outbox.schema,
    BESTNOTIFY_ALLOW_PRIVATE_NETWORK: '127.0.0.0/8',
  };
  const startHere = (args: readonly string[], options: RunOptions = {}) =>
    start(args, { ...options, env: { ...env, ...secretKey, ...options.env } });
  return {
    outbox,
    env,
    start: startHere,
    run: (args, options) => startHere(args, options).ended,
    async lines(args, options) {
      const { code, stdout, stderr } = await startHere([...args, '--json'], options).ended;
      if (code !== 0) throw new Error(`${args.join(' ')} ended with ${String(code)}: ${stderr}`);
      return parseLines(stdout);
    },
    [Symbol.asyncDispose]: () => outbox[Symbol.asyncDispose](),
  };
}

// The key of the outbox fixture has an id of its own, so the command is given it by a configuration file.
const secretKey = { BESTNOTIFY_CONFIG: fileURLToPath(new URL('./config.mjs', import.meta.url)) };

export function parseLines(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
