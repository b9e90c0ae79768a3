import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  hash,
  randomBytes,
  type KeyObject,
} from 'node:crypto';
import { decodeBase64 } from './base64.js';
import { SecretError } from './errors.js';

/** A key that can sign. Made by {@link parseSigningKey}; prints and serialises without its key material. */
export interface SigningKey {
  readonly algorithm: 'hmac' | 'ed25519-private';
  readonly key: KeyObject;
}

/** A key that can verify. Made by {@link parseVerifyingKey}; prints and serialises without its key material. */
export interface VerifyingKey {
  readonly algorithm: 'hmac' | 'ed25519-public';
  readonly key: KeyObject;
}

const minSecretBytes = 24;
const maxSecretBytes = 64;

const kinds = {
  whsec_: { minBytes: minSecretBytes, maxBytes: maxSecretBytes },
  whsk_: { minBytes: 64, maxBytes: 64 }, // the 32-byte seed, then the public key
  whpk_: { minBytes: 32, maxBytes: 32 },
} as const;

type Prefix = keyof typeof kinds;
const prefixes = Object.keys(kinds) as Prefix[];

/**
 * A fresh HMAC secret, `whsec_…`.
 *
 * @param sizeBytes - 24 to 64.
 */
export function generateSecret(sizeBytes = 32): string {
  if (!Number.isInteger(sizeBytes) || sizeBytes < minSecretBytes || sizeBytes > maxSecretBytes) {
    throw new SecretError({ problem: `size must be ${minSecretBytes} to ${maxSecretBytes} bytes` });
  }
  return `whsec_${randomBytes(sizeBytes).toString('base64')}`;
}

/** A fresh Ed25519 pair: the sender keeps `whsk_…`, the receiver is given `whpk_…`. */
export function generateKeyPair(): { privateKey: string; publicKey: string } {
  const { x = '', d = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const publicBytes = Buffer.from(x, 'base64url');
  const privateBytes = Buffer.concat([Buffer.from(d, 'base64url'), publicBytes]);
  return { privateKey: `whsk_${privateBytes.toString('base64')}`, publicKey: `whpk_${publicBytes.toString('base64')}` };
}

/** Reads `whsec_…` or `whsk_…`. @throws {@link SecretError} which names the first wrong character, never the secret. */
export function parseSigningKey(text: string): SigningKey {
  const { prefix, bytes } = parse(text);
  if (prefix === 'whsec_') return { algorithm: 'hmac', key: createSecretKey(bytes) };
  if (prefix === 'whsk_') return { algorithm: 'ed25519-private', key: ed25519PrivateKey(bytes) };
  throw new SecretError({ problem: 'is a public key (whpk_); signing needs whsec_ or whsk_' });
}

/** Reads `whsec_…` or `whpk_…`. @throws {@link SecretError} which names the first wrong character, never the secret. */
export function parseVerifyingKey(text: string): VerifyingKey {
  const { prefix, bytes } = parse(text);
  if (prefix === 'whsec_') return { algorithm: 'hmac', key: createSecretKey(bytes) };
  if (prefix === 'whpk_') return { algorithm: 'ed25519-public', key: ed25519PublicKey(bytes) };
  throw new SecretError({
    problem: 'is a private key (whsk_); a receiver needs whsec_ or whpk_, and must not have the private key',
  });
}

/** The key material behind `whsec_…`, `whsk_…` or `whpk_…`, for a keyed fingerprint. Never log it. */
export function keyBytes(text: string): Buffer {
  return parse(text).bytes;
}

/** A name for a secret that is safe to show: its prefix and the first 8 hex digits of its SHA-256. */
export function maskSecret(text: string): string {
  const prefix = prefixes.find((candidate) => text.startsWith(candidate)) ?? '';
  return `${prefix}…${hash('sha256', text, 'hex').slice(0, 8)}`;
}

function parse(text: unknown): { prefix: Prefix; bytes: Buffer } {
  if (typeof text !== 'string' || text === '')
    throw new SecretError({ problem: 'is missing; set it to whsec_ and base64' });
  const prefix = prefixes.find((candidate) => text.startsWith(candidate));
  if (prefix === undefined) {
    const position = firstDifference(text, prefixes);
    throw new SecretError({
      problem: `must start with whsec_, whsk_ or whpk_; character ${position} does not fit`,
      position,
    });
  }
  const decoded = decodeBase64(text.slice(prefix.length));
  if ('wrongAt' in decoded) {
    const position = prefix.length + decoded.wrongAt + 1;
    const what = position > text.length ? `it ends before character ${position}` : `character ${position} does not fit`;
    throw new SecretError({ problem: `is not strict base64 after ${prefix}; ${what}`, position });
  }
  const { minBytes, maxBytes } = kinds[prefix];
  const sizeBytes = decoded.bytes.byteLength;
  if (sizeBytes < minBytes || sizeBytes > maxBytes) {
    const range = minBytes === maxBytes ? String(minBytes) : `${minBytes} to ${maxBytes}`;
    throw new SecretError({ problem: `holds ${sizeBytes} bytes; ${prefix} needs ${range}` });
  }
  return { prefix, bytes: decoded.bytes };
}

/** The first character, counted from 1, where `text` leaves every one of the candidates. */
function firstDifference(text: string, candidates: readonly string[]): number {
  const shared = candidates.map((candidate) => {
    let at = 0;
    while (at < candidate.length && text[at] === candidate[at]) at++;
    return at;
  });
  return Math.max(...shared) + 1;
}

function ed25519PublicKey(bytes: Buffer): KeyObject {
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: bytes.toString('base64url') }, format: 'jwk' });
}

function ed25519PrivateKey(bytes: Buffer): KeyObject {
  const [seed, publicBytes] = [bytes.subarray(0, 32), bytes.subarray(32)];
  const jwk = { kty: 'OKP', crv: 'Ed25519', d: seed.toString('base64url'), x: publicBytes.toString('base64url') };
  const key = createPrivateKey({ key: jwk, format: 'jwk' });
  const derived = createPublicKey(key).export({ format: 'jwk' }).x; // OpenSSL reads only the seed
  if (derived !== jwk.x) throw new SecretError({ problem: 'has a public half that does not belong to its seed' });
  return key;
}
