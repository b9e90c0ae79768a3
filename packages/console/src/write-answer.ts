import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer } from './answer.js';

/** On every answer. What is not the page may run nothing at all. */
const alwaysHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Writes an answer. One whose lines come while work goes on is written as they come, and is worked through if nobody reads it. */
export async function writeAnswer(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  const headers = { ...alwaysHeaders, ...answer.headers };
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  response.statusCode = answer.status;
  if (answer.lines !== undefined) {
    for await (const line of answer.lines) {
      if (!response.destroyed) response.write(`${JSON.stringify(line)}\n`);
    }
    response.end();
    return;
  }
  const body = Buffer.from(answer.body ?? '');
  response.setHeader('content-length', body.length);
  response.end(request.method === 'HEAD' ? undefined : body);
}
