import type { IncomingMessage } from 'node:http';
import { BadInput } from './answer.js';

/** No action needs more than a few hundred ids. */
const maxBodyBytes = 64 * 1024;

/**
 * The JSON body of an action. A parser of the host may have read it already.
 *
 * @throws {@link BadInput} for another content type, which a form on another site could send, and for what is no JSON.
 */
export async function readBody(request: IncomingMessage & { body?: unknown }): Promise<unknown> {
  if (!/^application\/json\s*(;|$)/i.test(request.headers['content-type'] ?? '')) {
    throw new BadInput('Actions take application/json.', 415);
  }
  if (request.readableEnded || request.body !== undefined) return request.body ?? {};
  const text = (await readBytes(request)).toString('utf8');
  if (text === '') return {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new BadInput('The body is no JSON.');
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const tooLarge = () => new BadInput(`The body is over ${maxBodyBytes} bytes.`, 413, 'too-large');
  if (Number(request.headers['content-length'] ?? 0) > maxBodyBytes) {
    request.resume(); // read and forgotten, so that the answer is seen instead of a reset
    throw tooLarge();
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let sizeBytes = 0;
    request.on('data', (chunk: Buffer) => {
      sizeBytes += chunk.length;
      if (sizeBytes <= maxBodyBytes) chunks.push(chunk);
    });
    request.on('end', () => (sizeBytes <= maxBodyBytes ? resolve(Buffer.concat(chunks)) : reject(tooLarge())));
    request.on('error', reject);
  });
}
