import { createHmac, hash, type KeyObject } from 'node:crypto';

const blockBytes = 64;
const digestBytes = 32;
/** Above this, copying the body costs more than an Hmac object. */
const maxCopiedBytes = 16 * 1024;
/** One for all: a signature is computed without a pause. */
const message = Buffer.alloc(blockBytes + maxCopiedBytes);

/** A key in the two forms of RFC 2104; behind the outer one is room for the inner digest. */
interface Pads {
  inner: Buffer;
  outer: Buffer;
}
const padsOfKeys = new WeakMap<KeyObject, Pads>();

/**
 * HMAC-SHA256 of a text and the bytes behind it.
 *
 * Two plain hashes, as RFC 2104 §2 writes it: an Hmac object costs more to make and to collect than a body of 1 KiB costs to hash.
 *
 * @param key - at most 64 bytes, the block of SHA-256: what `parseSigningKey` and `parseVerifyingKey` give.
 * @param prefix - ASCII.
 */
export function hmac(key: KeyObject, prefix: string, body: Uint8Array, encoding: 'base64' | 'binary'): string {
  if (prefix.length + body.byteLength > maxCopiedBytes) {
    return createHmac('sha256', key).update(prefix).update(body).digest(encoding);
  }
  const { inner, outer } = padsOf(key);
  inner.copy(message);
  const bodyAt = blockBytes + message.write(prefix, blockBytes, 'latin1');
  message.set(body, bodyAt);
  outer.write(hash('sha256', message.subarray(0, bodyAt + body.byteLength), 'binary'), blockBytes, 'latin1');
  return hash('sha256', outer, encoding);
}

function padsOf(key: KeyObject): Pads {
  let pads = padsOfKeys.get(key);
  if (pads === undefined) {
    pads = { inner: Buffer.alloc(blockBytes, 0x36), outer: Buffer.alloc(blockBytes + digestBytes, 0x5c) };
    for (const [at, byte] of key.export().entries()) {
      pads.inner[at] = byte ^ 0x36;
      pads.outer[at] = byte ^ 0x5c;
    }
    padsOfKeys.set(key, pads);
  }
  return pads;
}
