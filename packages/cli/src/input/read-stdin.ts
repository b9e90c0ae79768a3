import { InputError } from '../errors.js';
import type { Streams } from '../output/terminal.js';

const maxInputBytes = 16 * 1024 * 1024;

/** All of stdin. @throws {@link InputError} for more than 16 MiB. */
export async function readStdin({ stdin }: Pick<Streams, 'stdin'>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of stdin) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    sizeBytes += bytes.byteLength;
    if (sizeBytes > maxInputBytes) throw new InputError({ from: 'stdin', problem: `is over ${maxInputBytes} bytes` });
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
