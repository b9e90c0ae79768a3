import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ConfigurationError } from '../errors.js';
import { checkList, checkObject, checkText } from './check-values.js';
import { SecretSealError } from './errors.js';

/** How secrets are kept. Without any of it they are stored as they are, and a warning says so once. */
export interface SecretStorageOptions {
  /**
   * Keys that seal the stored secrets, base64 of 32 bytes, by id; the first one seals, all of them open.
   *
   * @default the environment variable BESTNOTIFY_SECRET_KEY, as the key `env`
   */
  keys?: readonly { id: string; key: string }[];
  /** Gives an endpoint's live secrets from a KMS or vault at the time of sending. Nothing is stored then. */
  resolve?: (endpoint: string) => Promise<readonly string[]>;
}

/** Which secret a sealed text is; it cannot be moved to another endpoint or key id. */
export interface SecretPlace {
  source: string;
  endpoint: string;
  keyId: string;
}

/** Seals secrets for the table and opens them for the worker. */
export interface Vault {
  readonly isResolving: boolean;
  seal(secret: string, place: SecretPlace): string;
  /** @throws {@link SecretSealError} if no key fits. */
  open(stored: string, place: SecretPlace): string;
  resolve(place: Omit<SecretPlace, 'keyId'>): Promise<{ id: string; secret: string }[]>;
  /** True if the text is sealed with the first key, or there is none. */
  isCurrent(stored: string): boolean;
}

const algorithm = 'aes-256-gcm';
const ivBytes = 12; // NIST SP 800-38D §8.2: 96 bits
const tagBytes = 16;

/**
 * @param warn - told once, when the first secret is stored in plain text.
 * @throws {@link ConfigurationError} for a key that is not base64 of 32 bytes.
 */
export function createVault(options: SecretStorageOptions, warn: (message: string) => void): Vault {
  checkKeys(options);
  const keys = new Map((options.keys ?? environmentKeys()).map(({ id, key }) => [checkId(id), parseKey(id, key)]));
  const [currentId] = keys.keys();
  const { resolve } = options;
  let hasWarned = false;
  return {
    isResolving: resolve !== undefined,
    seal(secret, place) {
      const key = currentId === undefined ? undefined : keys.get(currentId);
      if (currentId !== undefined && key !== undefined) return seal(secret, { id: currentId, key, place });
      if (!hasWarned) {
        hasWarned = true;
        warn(
          'Signing secrets are stored in plain text. Set BESTNOTIFY_SECRET_KEY (base64 of 32 random bytes) to have them sealed.',
        );
      }
      return secret;
    },
    open(stored, place) {
      if (!isSealed(stored)) return stored;
      const id = stored.split('.')[1] ?? '';
      const key = keys.get(id);
      if (key === undefined)
        throw new SecretSealError({ ...place, problem: `it is sealed with the key ${id}, which is not given` });
      return unseal(stored, { key, place });
    },
    async resolve({ endpoint }) {
      const secrets = (await resolve?.(endpoint)) ?? [];
      return secrets.map((secret, index) => ({ id: String(index), secret }));
    },
    isCurrent: (stored) => (currentId === undefined ? !isSealed(stored) : stored.startsWith(`sealed1.${currentId}.`)),
  };
}

function isSealed(stored: string): boolean {
  return stored.startsWith('sealed1.');
}

function seal(secret: string, { id, key, place }: { id: string; key: Buffer; place: SecretPlace }): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv).setAAD(additionalData(place));
  const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `sealed1.${id}.${sealed.toString('base64')}`;
}

function unseal(stored: string, { key, place }: { key: Buffer; place: SecretPlace }): string {
  const sealed = Buffer.from(stored.split('.')[2] ?? '', 'base64');
  try {
    const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, ivBytes)).setAAD(additionalData(place));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    return decipher.update(sealed.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch (cause) {
    throw new SecretSealError({
      ...place,
      problem: 'it was changed, moved, or sealed with another key of the same id',
      cause,
    });
  }
}

/** None of the parts can hold a space. */
function additionalData({ source, endpoint, keyId }: SecretPlace): Buffer {
  return Buffer.from(`${source} ${endpoint} ${keyId}`, 'utf8');
}

function environmentKeys(): { id: string; key: string }[] {
  const key = process.env['BESTNOTIFY_SECRET_KEY'];
  return key === undefined || key === '' ? [] : [{ id: 'env', key }];
}

function checkKeys({ keys, resolve }: SecretStorageOptions): void {
  if (keys !== undefined) {
    checkList('secretStorage.keys', keys, { what: 'keys such as [{ id, key }]' });
    for (const [index, each] of keys.entries()) {
      checkObject(`secretStorage.keys[${index}]`, each);
      checkText(`secretStorage.keys[${index}].key`, each.key);
    }
  }
  if (resolve !== undefined && typeof resolve !== 'function') {
    throw new ConfigurationError({ option: 'secretStorage.resolve', problem: 'must be a function' });
  }
}

function checkId(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(id)) {
    throw new ConfigurationError({
      option: 'secretStorage.keys',
      problem: `has an id that is not 1 to 32 of A-Z a-z 0-9 _ -: ${JSON.stringify(id)}`,
    });
  }
  return id;
}

function parseKey(id: string, text: string): Buffer {
  const key = Buffer.from(text, 'base64');
  if (key.byteLength !== 32 || key.toString('base64') !== text) {
    throw new ConfigurationError({
      option: 'secretStorage.keys',
      problem: `holds a key (${id}) that is not base64 of 32 bytes`,
      fix: 'Make one with: openssl rand -base64 32',
    });
  }
  return key;
}
