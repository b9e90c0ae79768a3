// The smallest honest receiver of notifications on Node without our packages. README.md says how to run it.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { TextDecoder } from 'node:util';

const { NOTIFY_SOURCE, NOTIFY_TO, NOTIFY_SECRETS = '', NOTIFY_DIR = 'done', PORT = '8080' } = process.env;
const secrets = NOTIFY_SECRETS.split(' ').map(readSecret); // two while a key rotates
const maxBodyBytes = 256 * 1024;
const running = new Set(); // several processes need a lock in the database instead

function readSecret(text) {
  const key = Buffer.from(text.slice(6), 'base64');
  if (`whsec_${key.toString('base64')}` !== text || key.length < 24 || key.length > 64) {
    throw new Error('NOTIFY_SECRETS must hold whsec_ secrets of 24 to 64 bytes');
  }
  return key;
}

/** Your business. It runs again if the process dies before it is remembered: make it safe to repeat. */
async function handle(event) {
  console.log('effect', event.type, event.bizId);
}

function signatureMatches(id, timestamp, given, body) {
  const entries = given.split(' ', 10).map((entry) => Buffer.from(entry));
  return secrets.some((key) => {
    const hmac = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body); // the bytes as they came
    const wanted = Buffer.from(`v1,${hmac.digest('base64')}`);
    return entries.some((entry) => entry.length === wanted.length && timingSafeEqual(entry, wanted));
  });
}

/** Signature first, then time, then audience; only then the content is believed. */
async function receive(headers, body) {
  const { 'webhook-id': id = '', 'webhook-timestamp': timestamp = '', 'webhook-signature': given = '' } = headers;
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id) || !/^[1-9][0-9]{0,11}$/.test(timestamp)) return [401, 'invalid-signature'];
  if (!signatureMatches(id, timestamp, given, body)) return [401, 'invalid-signature'];
  if (Math.abs(Math.floor(Date.now() / 1000) - Number(timestamp)) > 300) return [401, 'stale-timestamp'];
  let event;
  try {
    event = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return [400, 'malformed'];
  }
  const { source, to, type, bizId } = event ?? {};
  if (![source, to, type, bizId].every((member) => typeof member === 'string')) return [400, 'malformed'];
  if (source !== NOTIFY_SOURCE || to !== NOTIFY_TO) return [401, 'wrong-audience'];
  return once(sha256(JSON.stringify([source, to, type, bizId])), sha256(body), () => handle(event));
}

async function once(key, digest, work) {
  if (running.has(key)) return [409, 'in-progress'];
  running.add(key);
  try {
    const file = join(NOTIFY_DIR, key);
    const done = readFileIfThere(file);
    if (done !== undefined) return done === digest ? [200, 'duplicate'] : [422, 'payload-conflict'];
    await work();
    writeFileSync(`${file}.new`, digest);
    renameSync(`${file}.new`, file); // whole or not at all
    return [200, 'handled'];
  } finally {
    running.delete(key);
  }
}

function readFileIfThere(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');

const server = createServer(async (request, response) => {
  const chunks = []; // bytes: a character may be cut by a chunk boundary
  let size = 0;
  let outcome = request.method === 'POST' ? undefined : [405, 'method-not-allowed'];
  try {
    for await (const chunk of request) if ((size += chunk.length) <= maxBodyBytes) chunks.push(chunk);
    outcome ??= size > maxBodyBytes ? [413, 'too-large'] : await receive(request.headers, Buffer.concat(chunks));
  } catch (error) {
    console.error('handler failed:', error);
    outcome = [500, 'handler-error'];
  }
  const [status, reason] = outcome;
  const headers = { 'content-type': 'text/plain', 'cache-control': 'no-store', 'bestnotify-reason': reason };
  if (status === 409) headers['retry-after'] = '1';
  response.writeHead(status, headers).end(status === 200 ? 'success' : 'fail');
});
mkdirSync(NOTIFY_DIR, { recursive: true });
server.listen(Number(PORT), '127.0.0.1', () => console.log('listening on', server.address().port));
