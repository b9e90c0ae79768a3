import type { BodyLimits, BodyProblemReport } from '../notification.js';
import type { Receiver } from '../receiver.js';

/** For every server that speaks `Request` and `Response`: Next.js route handlers, Hono, Bun, Deno, workers with Node's crypto. */
export function fetchHandler(receiver: Receiver): (request: Request) => Promise<Response> {
  return async (request) => {
    const reply = await receiver.handle({
      method: request.method,
      headers: request.headers,
      body: (limits) => readFetchBody(request, limits),
    });
    return new Response(new Uint8Array(reply.body), { status: reply.status, headers: reply.headers });
  };
}

/** Reads bytes, never text: decoding would drop a byte order mark and replace what is not UTF-8. */
async function readFetchBody(request: Request, limits: BodyLimits): Promise<Uint8Array | BodyProblemReport> {
  if (request.bodyUsed) return { problem: 'raw-body-missing' };
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<BodyProblemReport>((resolve) => {
    timer = setTimeout(() => resolve({ problem: 'body-timeout' }), limits.bodyTimeoutMs);
  });
  const outcome = await Promise.race([readAll(reader, limits.maxBodyBytes), timeout]);
  clearTimeout(timer);
  if ('problem' in outcome) reader.cancel().catch(() => undefined);
  return outcome;
}

async function readAll(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBodyBytes: number,
): Promise<Uint8Array | BodyProblemReport> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, sizeBytes);
      sizeBytes += value.byteLength;
      if (sizeBytes > maxBodyBytes) return { problem: 'too-large' };
      chunks.push(value);
    }
  } catch {
    return { problem: 'body-timeout' }; // the sender broke off
  }
}
