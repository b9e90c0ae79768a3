import { SecretError } from './errors.js';

const minBytes = 16;

/**
 * Checks a secret of the profile `body-hmac`: a plain string of at least 16 bytes, its UTF-8 bytes being the key.
 *
 * @throws {@link SecretError} also for a `whsec_` secret: one key must never serve both profiles, or a body signed without a time
 * could be told from nothing that was signed with one.
 */
export function checkBodySecret(secret: unknown): asserts secret is string {
  if (typeof secret !== 'string' || Buffer.byteLength(secret) < minBytes) {
    throw new SecretError({ problem: `of the profile body-hmac must be a string of at least ${minBytes} bytes` });
  }
  if (/^wh(?:sec|sk|pk)_/.test(secret)) {
    throw new SecretError({ problem: 'of the profile body-hmac must not be one that is also used for v1' });
  }
  if (/\p{Surrogate}/u.test(secret)) {
    throw new SecretError({ problem: 'of the profile body-hmac holds half of a character, which has no UTF-8 form' });
  }
}
