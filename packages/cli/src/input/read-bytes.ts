import { readFile } from 'node:fs/promises';
import { InputError } from '../errors.js';
import type { Streams } from '../output/terminal.js';
import { readStdin } from './read-stdin.js';

/** A file's bytes, or stdin's for `-`. */
export async function readBytes(streams: Streams, file: string): Promise<Buffer> {
  if (file === '-') return readStdin(streams);
  try {
    return await readFile(file);
  } catch (cause) {
    const { code = 'failed' } = cause as NodeJS.ErrnoException;
    throw new InputError({ from: file, problem: `could not be read (${code})`, cause });
  }
}
