// The smallest honest receiver of notifications on Node without our packages. README.md says how to run it.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { TextDecoder } from 'node:util';

const { NOTIFY_SOURCE, NOTIFY_TO, NOTIFY_SECRETS = '', NOTIFY_DIR = 'done', PORT = '8080' } = process.env;
const keys = NOTIFY_SECRETS.split(' ').map((text) => Buffer.from(text.replace('whsec_', ''), 'base64')); // two while a key rotates
const running = new Set(); // several processes need a lock in the database instead

/** Your business. It runs again if the process dies before the record is written: make it safe to repeat. */
async function handle(event) {
  console.log('effect', event.type, event.bizId);
}

function isSigned({ 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': given = '' }, body) {
  const entries = given.split(' ', 10).map((entry) => Buffer.from(entry));
  return keys.some((key) => {
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body); // the bytes as they came
    const wanted = Buffer.from(`v1,${hmac.digest('base64')}`);
    return entries.some((entry) => entry.length === wanted.length && timingSafeEqual(entry, wanted));
  });
}

/** Signature first, then time, then audience; only then the content is believed. */
async function receive(headers, body) {
  if (!isSigned(headers, body)) return [401, 'invalid-signature'];
  if (!(Math.abs(Math.floor(Date.now() / 1000) - headers['webhook-timestamp']) <= 300)) return [401, 'stale-timestamp'];
  let event;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) ?? {};
  } catch {
    return [400, 'malformed'];
  }
  const key = [event.source, event.to, event.type, event.bizId];
  if (!key.every((member) => typeof member === 'string')) return [400, 'malformed'];
  if (event.source !== NOTIFY_SOURCE || event.to !== NOTIFY_TO) return [401, 'wrong-audience'];
  return once(`${NOTIFY_DIR}/${sha256(JSON.stringify(key))}`, sha256(body), () => handle(event));
}

async function once(file, digest, work) {
  if (running.has(file)) return [409, 'in-progress'];
  const done = existsSync(file) ? readFileSync(file, 'utf8') : '';
  if (done === digest) return [200, 'duplicate'];
  if (done.length === digest.length) return [422, 'payload-conflict']; // a shorter record was cut by a crash, and is none
  running.add(file);
  try {
    await work();
    writeFileSync(file, digest);
    return [200, 'handled'];
  } finally {
    running.delete(file);
  }
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

const server = createServer(async (request, response) => {
  const chunks = []; // bytes: a character may be cut by a chunk boundary
  let size = 0;
  const answer = async () => {
    for await (const chunk of request) if ((size += chunk.length) <= 256 * 1024) chunks.push(chunk);
    if (request.method !== 'POST') return [405, 'method-not-allowed'];
    return size > 256 * 1024 ? [413, 'too-large'] : receive(request.headers, Buffer.concat(chunks));
  };
  const [status, reason] = await answer().catch(
    (error) => (console.error('handler failed:', error), [500, 'handler-error']),
  );
  response.writeHead(status, {
    'content-type': 'text/plain',
    'bestnotify-reason': reason,
    ...(status === 409 && { 'retry-after': '1' }),
  });
  response.end(status === 200 ? 'success' : 'fail');
});
if (keys.some((key) => key.length < 24)) throw new Error('NOTIFY_SECRETS must hold whsec_ secrets');
mkdirSync(NOTIFY_DIR, { recursive: true });
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening on', server.address().port));
