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

/** Writes `count` lines for receiver-wrk.lua and the tail of the body. */
export async function writeRequests({ folder, name, sizeBytes, count, secret }) {
  const { head, tail } = bodyParts(sizeBytes);
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const timestamp = Math.floor(Date.now() / 1000);
  const linesFile = path.join(folder, `${name}.txt`);
  const tailFile = path.join(folder, `${sizeBytes}.tail`);
  writeFileSync(tailFile, tail);
  const out = createWriteStream(linesFile);
  const run = randomUUID().slice(0, 8);
  for (let i = 0; i < count; i += 1) {
    const id = `ntf_${run}-${i}`;
    const bizId = `PAY${run}${i}`;
    const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${head}${bizId}${tail}`).digest('base64');
    if (!out.write(`${id} ${timestamp} v1,${signature} ${bizId}\n`)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'finish');
  return { linesFile, tailFile, head };
}
