import type { IncomingMessage } from 'node:http';

const maxBytes = 1024 * 1024;

/** All bytes of a request. @throws Error beyond 1 MiB: nothing genuine is that large. */
export async function readRequestBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) throw new Error(`body over ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
