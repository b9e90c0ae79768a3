// Loaded before everything else: each generated signing secret then begins with the same marked bytes, so that it can
// be found wherever it does not belong. Nothing else that is random is touched.
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { markedBytes } from './marker.mjs';

const { randomBytes } = crypto;
crypto.randomBytes = (size, callback) => {
  const isSecret = callback === undefined && size >= markedBytes.length && new Error().stack.includes('generateSecret');
  if (!isSecret) return callback === undefined ? randomBytes(size) : randomBytes(size, callback);
  return Buffer.concat([markedBytes, randomBytes(size - markedBytes.length)]);
};
syncBuiltinESMExports();
