import { keyBytes } from '@bestnotify/protocol';
import { createHmac } from 'node:crypto';
import { bytesOf, type Queryable } from './database.js';
import { quoteSchema } from './schema-name.js';

/**
 * Makes fingerprints of key bytes under a key that only this installation's database holds: equal secrets can be
 * found without anyone who sees a fingerprint being able to test a guess elsewhere.
 */
export function createFingerprinter(schema: string): (database: Queryable, secret: string) => Promise<Buffer> {
  let key: Buffer | undefined;
  return async (database, secret) => {
    if (key === undefined) {
      const rows = await database.query(
        `select value from ${quoteSchema(schema)}.setting where name = 'fingerprint-key'`,
        [],
      );
      if (rows[0] === undefined) throw new Error(`schema ${schema} has lost its fingerprint key (table setting)`);
      key = bytesOf(rows[0], 'value');
    }
    return createHmac('sha256', key).update(bytesOfSecret(secret)).digest();
  };
}

/** A secret of the profile `body-hmac` is a plain string; its UTF-8 bytes are the key. */
function bytesOfSecret(secret: string): Uint8Array {
  return /^wh(?:sec|sk)_/.test(secret) ? keyBytes(secret) : Buffer.from(secret, 'utf8');
}
