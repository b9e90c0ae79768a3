import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4096);
let at = pool.length;

/** Random bytes, each given once. The system is asked for many at a time: asking for ten costs more than the rest of an id. */
export function pooledRandomBytes(sizeBytes: number): Uint8Array {
  if (at + sizeBytes > pool.length) {
    randomFillSync(pool);
    at = 0;
  }
  return pool.subarray(at, (at += sizeBytes));
}
