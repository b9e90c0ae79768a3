import { ConfigurationError, StoreFullError } from '../errors.js';
import { guardName, namesOf, recordName } from './key-name.js';
import type { Acquired, ClaimRequest, Completed, NotificationKey, Store } from './store.js';

/** Every field is optional; see {@link memoryStoreDefaults}. */
export interface MemoryStoreOptions {
  /** Most records held. At the limit the oldest finished ones make room; running ones never do. @default 100_000 */
  maxRecords?: number;
}

export const memoryStoreDefaults: Required<MemoryStoreOptions> = { maxRecords: 100_000 };

/** What a memory store borrows from its host. Tests pass a clock they can turn. */
export interface MemoryStoreParts {
  /** Milliseconds that never run backwards. */
  nowMs?: () => number;
}

interface Entry {
  state: 'running' | 'free' | 'done';
  digest: string;
  token: string;
  leaseEndsAtMs: number;
  attempt: number;
  fence: number;
  expiresAtMs: number;
}

interface Guard {
  token: string;
  leaseEndsAtMs: number;
  /** The newest sequence that is done; -1 before the first. */
  doneSequence: number;
  expiresAtMs: number;
}

/**
 * Records in this process's memory: for tests, demos and single-process tools. A restart forgets everything, and a second process
 * knows nothing of the first, so the receiver warns about it in production.
 *
 * @throws {@link ConfigurationError} if `maxRecords` is not a positive integer.
 */
export function memoryStore(
  options: MemoryStoreOptions = {},
  parts: MemoryStoreParts = {},
): Store & { size(): number } {
  const { maxRecords } = { ...memoryStoreDefaults, ...options };
  if (!Number.isSafeInteger(maxRecords) || maxRecords < 1) {
    throw new ConfigurationError({ option: 'maxRecords', problem: 'must be a positive integer' });
  }
  return new MemoryStore(maxRecords, parts.nowMs ?? (() => performance.now()));
}

class MemoryStore implements Store {
  readonly kind = 'memory';
  // A Map iterates in insertion order and entries are re-inserted when they change, so the oldest change comes first.
  readonly #records = new Map<string, Entry>();
  readonly #guards = new Map<string, Guard>();

  constructor(
    private readonly maxRecords: number,
    private readonly nowMs: () => number,
  ) {}

  size(): number {
    return this.#records.size;
  }

  acquire(request: ClaimRequest): Promise<Acquired> {
    return new Promise((resolve) => {
      resolve(this.#acquire(request));
    });
  }

  #acquire(request: ClaimRequest): Acquired {
    const now = this.nowMs();
    const { record: name, guard: guardKey } = namesOf('m', request);
    const found = this.#live(this.#records, name, now);
    if (found !== undefined) {
      if (found.digest !== request.digest) return { verdict: 'conflict' };
      if (found.state === 'done') return { verdict: 'duplicate' };
      if (found.state === 'running' && found.token !== request.token && found.leaseEndsAtMs > now) {
        return { verdict: 'busy', remainingMs: found.leaseEndsAtMs - now };
      }
    }
    if (guardKey !== undefined && request.order !== undefined) {
      const guard = this.#live(this.#guards, guardKey, now);
      if (guard !== undefined && guard.doneSequence > request.order.sequence) return { verdict: 'stale' };
      if (guard !== undefined && guard.token !== request.token && guard.leaseEndsAtMs > now) {
        return { verdict: 'busy', remainingMs: guard.leaseEndsAtMs - now };
      }
    }
    if (found === undefined) this.#makeRoom(now);
    const isMine = found?.state === 'running' && found.token === request.token;
    const attempt = (found?.attempt ?? 0) + (isMine ? 0 : 1);
    // The other stores use microseconds since the epoch; a counter suffices where nothing outlives the process.
    const fence = (found?.fence ?? 0) + (isMine ? 0 : 1);
    this.#put(name, request, { state: 'running', attempt, fence }, now);
    if (guardKey !== undefined) {
      this.#touchGuard(guardKey, request, now, { token: request.token, leaseEndsAtMs: now + request.leaseMs });
    }
    return { verdict: 'acquired', attempt, fence };
  }

  renew(request: ClaimRequest): Promise<boolean> {
    const now = this.nowMs();
    const held = this.#held(request, now);
    if (held === undefined) return Promise.resolve(false);
    const { guard: guardKey } = namesOf('m', request);
    if (guardKey !== undefined) {
      if (this.#live(this.#guards, guardKey, now)?.token !== request.token) return Promise.resolve(false);
      this.#touchGuard(guardKey, request, now, { token: request.token, leaseEndsAtMs: now + request.leaseMs });
    }
    held.leaseEndsAtMs = now + request.leaseMs;
    return Promise.resolve(true);
  }

  complete(request: ClaimRequest): Promise<Completed> {
    const now = this.nowMs();
    const { record: name, guard: guardKey } = namesOf('m', request);
    const found = this.#live(this.#records, name, now);
    if (found !== undefined && found.digest !== request.digest) return Promise.resolve('conflict');
    if (found?.state !== 'done') {
      this.#put(name, request, { state: 'done', attempt: found?.attempt ?? 1, fence: found?.fence ?? 1 }, now);
    }
    if (guardKey !== undefined && request.order !== undefined) {
      const guard = this.#live(this.#guards, guardKey, now);
      const doneSequence = Math.max(guard?.doneSequence ?? -1, request.order.sequence);
      const mine = guard === undefined || guard.token === request.token;
      this.#touchGuard(guardKey, request, now, mine ? { doneSequence, token: '', leaseEndsAtMs: 0 } : { doneSequence });
    }
    return Promise.resolve('done');
  }

  release(request: ClaimRequest): Promise<boolean> {
    const now = this.nowMs();
    const { guard: guardKey } = namesOf('m', request);
    if (guardKey !== undefined && this.#live(this.#guards, guardKey, now)?.token === request.token) {
      this.#touchGuard(guardKey, request, now, { token: '', leaseEndsAtMs: 0 });
    }
    const held = this.#held(request, now);
    if (held === undefined) return Promise.resolve(false);
    held.state = 'free';
    held.token = '';
    return Promise.resolve(true);
  }

  forget(key: NotificationKey, subject?: string): Promise<boolean> {
    if (subject !== undefined) this.#guards.delete(guardName('m', key, subject));
    return Promise.resolve(this.#records.delete(recordName('m', key, subject)));
  }

  #held(request: ClaimRequest, now: number): Entry | undefined {
    const found = this.#live(this.#records, namesOf('m', request).record, now);
    return found?.state === 'running' && found.token === request.token ? found : undefined;
  }

  #live<T extends { expiresAtMs: number }>(map: Map<string, T>, name: string, now: number): T | undefined {
    const found = map.get(name);
    if (found === undefined || found.expiresAtMs > now) return found;
    map.delete(name);
    return undefined;
  }

  #put(name: string, request: ClaimRequest, facts: Pick<Entry, 'state' | 'attempt' | 'fence'>, now: number): void {
    this.#records.delete(name);
    this.#records.set(name, {
      ...facts,
      digest: request.digest,
      token: facts.state === 'running' ? request.token : '',
      leaseEndsAtMs: now + request.leaseMs,
      expiresAtMs: now + request.retentionMs,
    });
  }

  #touchGuard(name: string, request: ClaimRequest, now: number, change: Partial<Guard>): void {
    const before = this.#live(this.#guards, name, now) ?? {
      token: '',
      leaseEndsAtMs: 0,
      doneSequence: -1,
      expiresAtMs: 0,
    };
    this.#guards.delete(name);
    this.#guards.set(name, { ...before, ...change, expiresAtMs: now + request.retentionMs });
    // Guards are bounded as records are. One that is dropped lets an older state run, as an expired one would.
    if (this.#guards.size > this.maxRecords) this.#guards.delete(this.#guards.keys().next().value as string);
  }

  #makeRoom(now: number): void {
    if (this.#records.size < this.maxRecords) return;
    for (const [name, entry] of this.#records) {
      const running = entry.state === 'running' && entry.leaseEndsAtMs > now;
      if (running && entry.expiresAtMs > now) continue;
      this.#records.delete(name);
      return;
    }
    throw new StoreFullError({ maxRecords: this.maxRecords });
  }
}
