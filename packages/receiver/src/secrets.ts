import { parseVerifyingKey, verifyBody, type VerifyingKey } from '@bestnotify/protocol';
import { ConfigurationError } from './errors.js';

/** One secret, with a name for logs if you like. */
export type Secret = string | { id: string; secret: string };
export type SecretList = Secret | readonly Secret[];
/** Fixed secrets, or where to fetch them. */
export type Secrets = SecretList | (() => SecretList | Promise<SecretList>);

/** Parsed and ready: for `v1` keys, for `body-hmac` the plain strings. */
export interface KeyRing {
  readonly ids: readonly string[];
  readonly keys: readonly VerifyingKey[];
  readonly plain: readonly string[];
}

export interface KeySource {
  /** The keys of now. A fixed list answers without waiting. */
  current(): KeyRing | Promise<KeyRing>;
}

const keptMs = 60_000;

/** @throws {@link ConfigurationError} for a list that is empty or holds something that cannot be a key. It never shows the secret. */
export function keySource(secrets: Secrets, profile: 'v1' | 'body-hmac', nowMs: () => number): KeySource {
  if (typeof secrets !== 'function') {
    const ring = parseRing(secrets, profile);
    return { current: () => ring };
  }
  return new FetchedKeys(async () => parseRing(await secrets(), profile), nowMs);
}

class FetchedKeys implements KeySource {
  #ring: KeyRing | undefined;
  #fetchedAtMs = 0;
  #fetching: Promise<KeyRing> | undefined;

  constructor(
    private readonly fetchRing: () => Promise<KeyRing>,
    private readonly nowMs: () => number,
  ) {}

  current(): KeyRing | Promise<KeyRing> {
    if (this.#ring !== undefined && this.nowMs() - this.#fetchedAtMs < keptMs) return this.#ring;
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined));
    return this.#fetching;
  }

  async #fetch(): Promise<KeyRing> {
    try {
      this.#ring = await this.fetchRing();
    } catch (error) {
      // The keys that worked a minute ago are better than refusing every payment while the vault is away.
      if (this.#ring === undefined) throw error;
    }
    this.#fetchedAtMs = this.nowMs();
    return this.#ring;
  }
}

function parseRing(given: SecretList, profile: 'v1' | 'body-hmac'): KeyRing {
  const list = Array.isArray(given) ? (given as readonly Secret[]) : [given as Secret];
  if (list.length === 0) throw new ConfigurationError({ option: 'secrets', problem: 'must hold at least one secret' });
  const entries = list.map((entry: Secret | undefined, place) =>
    typeof entry === 'object' ? { id: entry.id, secret: entry.secret } : { id: String(place), secret: entry ?? '' },
  );
  const ids = entries.map(({ id }) => id);
  try {
    if (profile === 'v1') return { ids, keys: entries.map(({ secret }) => parseVerifyingKey(secret)), plain: [] };
    const plain = entries.map(({ secret }) => secret);
    checkPlain(plain);
    return { ids, keys: [], plain };
  } catch (cause) {
    const problem = cause instanceof Error ? `is not usable: ${cause.message.replace(/\.$/, '')}` : 'is not usable';
    throw new ConfigurationError({ option: 'secrets', problem, cause });
  }
}

/** The protocol checks a plain secret when it is used; used once here, so that a bad one shows at construction. */
function checkPlain(secrets: readonly string[]): void {
  for (const secret of secrets) {
    try {
      verifyBody({ headers: { 'x-signature': '0'.repeat(64) }, body: new Uint8Array(), secrets: [secret] });
    } catch (error) {
      if (error instanceof Error && error.name === 'SecretError') throw error;
    }
  }
}
