import { ConfigurationError } from '../errors.js';
import { emitWarning, type Warn } from '../warn.js';
import { guardName, namesOf, recordName } from './key-name.js';
import { type RedisClient, ScriptBatch } from './redis-batch.js';
import { acquireScript, completeScript, releaseScript, renewScript, type Script } from './redis-scripts.js';
import type { Acquired, ClaimRequest, Completed, NotificationKey, Store } from './store.js';

export type { RedisClient } from './redis-batch.js';

/** Every field is optional; see {@link redisStoreDefaults}. */
export interface RedisStoreOptions {
  /** What every key starts with. Two receivers that share one Redis and one prefix share their records. @default 'bestnotify' */
  prefix?: string;
  /** Told once when the server may evict records. @default process.emitWarning */
  onWarning?: Warn;
}

export const redisStoreDefaults: Required<RedisStoreOptions> = { prefix: 'bestnotify', onWarning: emitWarning };

/**
 * Records in Redis 6.2 or newer, Valkey, or Redis Cluster, shared by all processes of the merchant.
 *
 * One key per notification, decided in one script. What it cannot promise: a process that dies after the handler's effect and before
 * the record is written runs the handler again, and a failover can lose the last records. `postgresInbox` closes both.
 *
 * @param client - an ioredis `Redis` or `Cluster`. It stays yours: the store never closes it.
 * @throws {@link ConfigurationError} if `client` is no ioredis client, or `prefix` is empty or has braces, which would move the keys to another Cluster slot.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  const { prefix, onWarning } = { ...redisStoreDefaults, ...options };
  if (!/^[^{}\s]+$/.test(prefix)) {
    throw new ConfigurationError({ option: 'prefix', problem: 'must be non-empty, without white space and braces' });
  }
  if (!isClient(client)) {
    throw new ConfigurationError({
      option: 'client',
      problem: 'must be a Redis or Cluster of ioredis: redisStore(new Redis(url))',
    });
  }
  return new RedisStore(client, prefix, onWarning);
}

function isClient(given: unknown): given is RedisClient {
  if (typeof given !== 'object' || given === null) return false;
  const commands = ['evalsha', 'eval', 'del', 'info'] as const;
  return commands.every((command) => typeof (given as Partial<RedisClient>)[command] === 'function');
}

class RedisStore implements Store {
  readonly kind = 'redis';
  readonly #batches: Record<Script['verb'], ScriptBatch>;
  #policyAsked = false;

  constructor(
    private readonly client: RedisClient,
    private readonly prefix: string,
    private readonly warn: Warn,
  ) {
    this.#batches = {
      acquire: new ScriptBatch(client, acquireScript),
      renew: new ScriptBatch(client, renewScript),
      complete: new ScriptBatch(client, completeScript),
      release: new ScriptBatch(client, releaseScript),
    };
  }

  async acquire(request: ClaimRequest): Promise<Acquired> {
    if (!this.#policyAsked) this.#askPolicy();
    const answer = await this.#run('acquire', request);
    const [verdict, first, second] = answer.split(' ');
    switch (verdict as string) {
      case 'A':
        return { verdict: 'acquired', attempt: Number(first), fence: Number(second) };
      case 'B':
        return { verdict: 'busy', remainingMs: Number(first) };
      case 'C':
        return { verdict: 'conflict' };
      case 'D':
        return { verdict: 'duplicate' };
      case 'S':
        return { verdict: 'stale' };
      default:
        throw new Error(`Redis answered ${answer.slice(0, 40)} to a claim`);
    }
  }

  async renew(request: ClaimRequest): Promise<boolean> {
    return (await this.#run('renew', request)) === '1';
  }

  async complete(request: ClaimRequest): Promise<Completed> {
    return (await this.#run('complete', request)) === 'C' ? 'conflict' : 'done';
  }

  async release(request: ClaimRequest): Promise<boolean> {
    return (await this.#run('release', request)) === '1';
  }

  async forget(key: NotificationKey, subject?: string): Promise<boolean> {
    if (subject !== undefined) await this.client.del(guardName(this.prefix, key, subject));
    return (await this.client.del(recordName(this.prefix, key, subject))) > 0;
  }

  #run(verb: Script['verb'], request: ClaimRequest): Promise<string> {
    const { record, guard } = namesOf(this.prefix, request);
    const { digest, token, order } = request;
    const batch = this.#batches[verb];
    if (guard === undefined || order === undefined) return batch.run(record, digest, token, request);
    return batch.runGuarded([record, guard], [digest, token], request, order.sequence);
  }

  /** An evicted record is a forgotten notification: its next copy would run the handler again. */
  #askPolicy(): void {
    this.#policyAsked = true;
    this.client.info('memory').then(
      (text) => {
        const policy = /^maxmemory_policy:(\S+)/m.exec(text)?.[1];
        if (policy === undefined || policy === 'noeviction') return;
        this.warn({
          code: 'RECEIVER_REDIS_EVICTS',
          message: `Redis has maxmemory-policy ${policy}, so it may drop the record of a handled notification and a copy would run again. Set noeviction, or use an instance of its own.`,
        });
      },
      // The same trouble shows at the next command, where it is answered; this is only advice.
      () => undefined,
    );
  }
}
