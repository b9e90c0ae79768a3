import type { Writable } from 'node:stream';
import pc from 'picocolors';
import { printable, printableJson } from './printable.js';

/** The streams and the environment of one run. */
export interface Streams {
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: Writable & { isTTY?: boolean; columns?: number };
  stderr: Writable & { isTTY?: boolean };
  env: Readonly<Record<string, string | undefined>>;
}

/** Where a command prints. Results go to stdout, everything else to stderr. */
export interface Terminal {
  readonly streams: Streams;
  /** The reader of stdout has gone: nothing more needs to be fetched for it. */
  readonly isClosed: boolean;
  /** Colours for results; identity functions unless stdout is a terminal. */
  readonly colours: ReturnType<typeof pc.createColors>;
  /** Width of the terminal, or undefined for a pipe. */
  readonly columns: number | undefined;
  /** Writes text that was made safe already, and a line end; resolves when the stream has taken it. */
  print(text: string): Promise<void>;
  /** Writes one value as one line of JSON. */
  json(value: unknown): Promise<void>;
  /** Writes a line for people on stderr; unsafe characters are escaped. */
  note(text: string): void;
}

export function createTerminal(streams: Streams): Terminal {
  const { stdout, stderr, env } = streams;
  let isClosed = false;
  const onError = (error: NodeJS.ErrnoException) => {
    // `| head` is a way to say "enough". Any other failure means that nobody can be told either.
    if (error.code !== 'EPIPE') process.exitCode = 1;
    isClosed = true;
  };
  stdout.on('error', onError);
  stderr.on('error', () => undefined);
  const write = (text: string) =>
    new Promise<void>((resolve) => {
      if (isClosed) resolve();
      else stdout.write(text, () => resolve()); // also called when it failed
    });
  const isColoured = stdout.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
  return {
    streams,
    get isClosed() {
      return isClosed;
    },
    colours: pc.createColors(isColoured),
    columns: stdout.isTTY === true ? stdout.columns : undefined,
    print: (text) => write(`${text}\n`),
    json: (value) => write(`${printableJson(value)}\n`),
    note: (text) => void stderr.write(`${printable(text)}\n`),
  };
}
