import type { Script } from './redis-scripts.js';

/** The part of an ioredis `Redis` or `Cluster` that the store uses. */
export interface RedisClient {
  evalsha(sha: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  eval(lua: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  del(key: string): Promise<number>;
  info(section: string): Promise<string>;
  readonly isCluster?: boolean;
}

/** What the requests of one command have in common: lease, retention and, under the ordering guard, the sequence. */
export interface Terms {
  leaseMs: number;
  retentionMs: number;
}

interface Waiting {
  terms: Terms;
  keys: string[];
  /** The terms, then digest and token for each key. */
  values: string[];
  waiters: { resolve: (answer: string) => void; reject: (error: unknown) => void }[];
}

// A script holds up the server while it runs: about 0.3 ms for this many.
const mostPerCommand = 128;
// A command that takes longer than this is no longer waited for: the next one is sent beside it.
const patienceMs = 20;

/**
 * Sends one script for all the requests that arrived while the one before was on its way. Alone, a request goes at once; in a crowd
 * they share the cost of a command. Each is still decided on its own, in one atomic step. On a Cluster, where keys live on different
 * nodes, every request is its own command.
 */
export class ScriptBatch {
  #waiting: Waiting | undefined;
  #alone: boolean;
  #onItsWay = 0;
  #sentAtMs = 0;

  constructor(
    private readonly client: RedisClient,
    private readonly script: Script,
  ) {
    this.#alone = client.isCluster === true;
  }

  run(key: string, digest: string, token: string, terms: Terms): Promise<string> {
    if (this.#alone) return this.#runOne([key], [...valuesOf(terms), digest, token]);
    return new Promise((resolve, reject) => {
      const waiting = this.#batchFor(terms);
      waiting.keys.push(key);
      waiting.values.push(digest, token);
      waiting.waiters.push({ resolve, reject });
      if (waiting.keys.length === mostPerCommand) this.#flush();
      else if (waiting.keys.length > 1) this.#flushIfForgotten();
    });
  }

  /** A request under the ordering guard: two keys of one slot, never batched. */
  runGuarded(keys: [string, string], values: readonly string[], terms: Terms, sequence: number): Promise<string> {
    return this.#runOne(keys, [...valuesOf(terms, sequence), ...values]);
  }

  #batchFor(terms: Terms): Waiting {
    const open = this.#waiting;
    if (open !== undefined) {
      if (open.terms.leaseMs === terms.leaseMs && open.terms.retentionMs === terms.retentionMs) return open;
      this.#flush();
    }
    setImmediate(() => this.#flushUnlessBusy());
    return (this.#waiting = { terms, keys: [], values: valuesOf(terms), waiters: [] });
  }

  async #runOne(keys: string[], values: string[]): Promise<string> {
    return answerAt(await this.#command(keys, values), 0);
  }

  #flushIfForgotten(): void {
    if (this.#onItsWay > 0 && performance.now() - this.#sentAtMs > patienceMs) this.#flush();
  }

  #flushUnlessBusy(): void {
    if (this.#onItsWay === 0 || performance.now() - this.#sentAtMs > patienceMs) this.#flush();
  }

  #flush(): void {
    const batch = this.#waiting;
    if (batch === undefined) return;
    this.#waiting = undefined;
    this.#onItsWay += 1;
    this.#sentAtMs = performance.now();
    this.#command(batch.keys, batch.values).then(
      (answers) => {
        this.#arrived();
        for (let i = 0; i < batch.waiters.length; i += 1) {
          try {
            batch.waiters[i]?.resolve(answerAt(answers, i));
          } catch (error) {
            batch.waiters[i]?.reject(error);
          }
        }
      },
      (error: unknown) => {
        this.#arrived();
        this.#onError(batch, error);
      },
    );
  }

  #arrived(): void {
    this.#onItsWay -= 1;
    // In the next turn, so that the answers of this one can start their handlers, and their records share the next command.
    if (this.#waiting !== undefined) setImmediate(() => this.#flushUnlessBusy());
  }

  #onError(batch: Waiting, error: unknown): void {
    // A plain connection to a node of a cluster, or a proxy in front of one: found out once, then every request goes alone.
    if (startsWith(error, 'CROSSSLOT')) {
      this.#alone = true;
      batch.waiters.forEach((waiter, i) => {
        const values = [...valuesOf(batch.terms), ...batch.values.slice(3 + i * 2, 5 + i * 2)];
        this.#runOne([batch.keys[i] ?? ''], values).then(waiter.resolve, waiter.reject);
      });
      return;
    }
    for (const waiter of batch.waiters) waiter.reject(error);
  }

  async #command(keys: string[], values: string[]): Promise<unknown> {
    try {
      return await this.client.evalsha(this.script.sha, keys.length, ...keys, ...values);
    } catch (error) {
      // A restart, a failover or SCRIPT FLUSH empties the cache of one node at any time, so this is asked on every call.
      if (!startsWith(error, 'NOSCRIPT')) throw error;
      return this.client.eval(this.script.lua, keys.length, ...keys, ...values);
    }
  }
}

function valuesOf({ leaseMs, retentionMs }: Terms, sequence?: number): string[] {
  return [String(leaseMs), String(retentionMs), sequence === undefined ? '' : String(sequence)];
}

function startsWith(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}

function answerAt(answers: unknown, index: number): string {
  const answer: unknown = Array.isArray(answers) ? answers[index] : undefined;
  if (typeof answer !== 'string') throw new Error('Redis gave no answer for one of the keys');
  if (answer.startsWith('E ')) throw new Error(answer.slice(2));
  return answer;
}
