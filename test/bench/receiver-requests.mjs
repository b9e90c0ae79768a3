// Signed notifications for wrk, each of them another business event.
import { createHmac, randomUUID } from 'node:crypto';
import { createWriteStream, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import path from 'node:path';

export const source = 'acme-pay';
export const to = 'merchant-42';

/** The envelope around the business id, filled up to about `sizeBytes`. */
export function bodyParts(sizeBytes) {
  const head = `{"source":"${source}","to":"${to}","type":"payment.success","bizId":"`;
  const open =
    '","subject":"ORDER20260101","occurredAt":"2026-01-01T16:00:00+08:00","data":{"amount":"100.00","currency":"CNY","items":[';
  const item = '{"sku":"A-10023","title":"blue cotton shirt","count":2,"price":"50.00"}';
  const room = Math.max(0, sizeBytes - head.length - open.length - 3 - 30);
  const items = Array.from({ length: Math.max(1, Math.floor(room / (item.length + 1))) }, () => item).join(',');
  return { head, tail: `${open}${items}]}}` };
}

const headers = {
  host: '127.0.0.1',
  'content-type': 'application/json',
  'x-event-type': 'payment.success',
  'bestnotify-attempt': '1',
};

/**
 * Writes requests for receiver-wrk.lua: what differs between them, which has one length, in one file; the end that all share in
 * another. So the generator only reads and joins, and is quick.
 *
 * @returns the two files, the length, and `count`.
 */
export async function writeRequests({ folder, name, sizeBytes, count, secret }) {
  const { head, tail } = bodyParts(sizeBytes);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const timestamp = Math.floor(Date.now() / 1000);
  const file = path.join(folder, `${name}-${sizeBytes}.heads`);
  const tailFile = path.join(folder, `${sizeBytes}.tail`);
  writeFileSync(tailFile, tail);
  const out = createWriteStream(file, { highWaterMark: 1024 * 1024 });
  const run = randomUUID().slice(0, 8);
  let lengthBytes = 0;
  for (let i = 0; i < count; i += 1) {
    const number = String(i).padStart(8, '0');
    const id = `ntf_${run}-${number}`;
    const start = `${head}PAY${run}${number}`;
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${start}`).update(tail).digest('base64');
    const own = {
      'content-length': start.length + tail.length,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    };
    const lines = Object.entries({ ...headers, ...own }).map(([header, value]) => `${header}: ${value}\r\n`);
    const request = `POST /notify HTTP/1.1\r\n${lines.join('')}\r\n${start}`;
    lengthBytes = request.length;
    if (!out.write(request)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
  return { file, tailFile, lengthBytes, count, writtenAtMs: performance.now() };
}
