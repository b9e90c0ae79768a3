import { checkWhole } from './options.js';
import { checkSchemaVersion } from './outbox/migrate.js';
import { sweepOverAge } from './outbox/sweep.js';
import { Pipeline, type PassSummary, type WorkerParts } from './pipeline/pipeline.js';

/** A resident worker. */
export interface Worker {
  /**
   * Stops claiming, gives back what has not been started, waits for what is in flight, then stops that too.
   *
   * Nothing is lost and nothing is charged for it. A second call with a shorter grace ends the wait.
   *
   * @returns what the worker did in its life.
   */
  stop(options?: { graceMs?: number }): Promise<PassSummary>;
  /** Looks at the outbox now instead of at the next poll. */
  nudge(): void;
  /** Requests in flight now. */
  readonly inFlight: number;
}

const defaultGraceMs = 15_000;
/** A timer for longer than 2³¹−1 ms would fire at once. */
const longestTimerMs = 2 ** 31 - 1;
const schemaCheckEveryMs = 60_000;
/** Completions that come together are refilled together. */
const refillAfterMs = 2;

/** Starts claiming at once and goes on until stopped; while PostgreSQL is away it waits and tries again. */
export function startWorker(parts: WorkerParts): Worker {
  const pipeline = new Pipeline(parts);
  const sleeper = createSleeper();
  let isStopping = false;
  pipeline.slots.onFinish = () => sleeper.wakeAfter(refillAfterMs);
  const running = loop({ parts, pipeline, sleeper, isStopping: () => isStopping });
  let stopped: Promise<PassSummary> | undefined;
  return {
    get inFlight() {
      return pipeline.slots.inFlight;
    },
    nudge: () => sleeper.wakeAfter(0),
    stop: ({ graceMs = defaultGraceMs } = {}) => {
      isStopping = true;
      pipeline.startNoMore();
      sleeper.wakeAfter(0);
      const timer = setTimeout(() => pipeline.abort(), Math.min(graceMs, longestTimerMs));
      stopped ??= (async () => {
        await running;
        await pipeline.drained();
        return pipeline.summary;
      })();
      return stopped.finally(() => clearTimeout(timer));
    },
  };
}

/** One pass for cron: claims and sends until nothing is due or `limit` rows were taken. */
export async function runOnce(
  parts: WorkerParts,
  { limit = 200, signal }: { limit?: number; signal?: AbortSignal } = {},
): Promise<PassSummary> {
  checkWhole('limit', limit, 0, Number.MAX_SAFE_INTEGER);
  await checkSchemaVersion(parts.database, parts.schema);
  const pipeline = new Pipeline(parts);
  const sleeper = createSleeper();
  pipeline.slots.onFinish = () => sleeper.wakeAfter(0);
  const stop = () => {
    pipeline.startNoMore();
    pipeline.abort();
  };
  signal?.addEventListener('abort', stop, { once: true });
  try {
    while (pipeline.summary.claimed < limit && signal?.aborted !== true) {
      // Asked beforehand: what was in flight then limited the claim, and may be finished by the time it returns.
      const wasIdle = pipeline.isIdle;
      const claimed = await pipeline.claim(limit - pipeline.summary.claimed);
      if (claimed > 0 && pipeline.slots.isHungry) continue;
      if (pipeline.slots.inFlight > 0)
        await sleeper.sleep(parts.options.maxPollMs); // a slot, or an endpoint's limit, may become free
      else if (wasIdle) break;
      else await pipeline.drained();
    }
    if (parts.options.breaker && signal?.aborted !== true) pipeline.summary.dead += await endOverAge(parts);
  } finally {
    await pipeline.drained();
    signal?.removeEventListener('abort', stop);
  }
  return pipeline.summary;
}

/**
 * Ends what is over age on parked endpoints, as the upkeep beside a resident worker does. @returns how many were ended.
 *
 * The oldest rows come first: a batch in which none had to end is the last one that a pass looks at.
 */
async function endOverAge({ database, schema, defaultPolicy, hooks }: WorkerParts): Promise<number> {
  let ended = 0;
  let after: string | null = '0';
  while (after !== null) {
    const { swept, next }: Awaited<ReturnType<typeof sweepOverAge>> = await sweepOverAge(database, {
      ...{ schema, defaultPolicy, after },
    });
    for (const notification of swept) hooks.emit('dead', notification);
    ended += swept.length;
    after = swept.length > 0 ? next : null;
  }
  return ended;
}

interface Loop {
  parts: WorkerParts;
  pipeline: Pipeline;
  sleeper: Sleeper;
  isStopping: () => boolean;
}

async function loop({ parts, pipeline, sleeper, isStopping }: Loop): Promise<void> {
  const { options, hooks, now, random } = parts;
  let pollMs: number = options.minPollMs;
  let hasWaited = false;
  let schemaCheckedAtMs = -Infinity;
  while (!isStopping()) {
    try {
      if (now() - schemaCheckedAtMs > schemaCheckEveryMs) {
        await checkSchemaVersion(parts.database, parts.schema);
        schemaCheckedAtMs = now();
      }
      const claimed = pipeline.slots.isHungry ? await pipeline.claim(pipeline.slots.free) : 0;
      if (claimed > 0) pollMs = options.minPollMs;
      // A look because something finished says nothing about how often something comes.
      else if (hasWaited) pollMs = Math.min(pollMs * 2, options.maxPollMs);
      if (claimed > 0 && pipeline.slots.isHungry && !isStopping()) {
        hasWaited = false;
        continue;
      }
    } catch (error) {
      hooks.emit('error', { during: 'claim', error });
      pollMs = Math.min(Math.max(pollMs, options.minPollMs) * 2, options.maxPollMs);
    }
    if (!isStopping()) hasWaited = await sleeper.sleep(pollMs * (0.9 + 0.2 * random())); // workers do not poll in step
  }
}

interface Sleeper {
  /** @returns whether it lasted so long, and was not ended. */
  sleep(ms: number): Promise<boolean>;
  /** Ends the sleep under way, or the next one, after `ms`. */
  wakeAfter(ms: number): void;
}

function createSleeper(): Sleeper {
  let wake: (() => void) | undefined;
  let waker: NodeJS.Timeout | undefined;
  let isWoken = false;
  return {
    sleep: (ms) =>
      new Promise((resolve) => {
        if (isWoken) {
          isWoken = false;
          resolve(false);
          return;
        }
        const end = (hasLasted: boolean) => {
          clearTimeout(timer);
          wake = undefined;
          resolve(hasLasted);
        };
        const timer = setTimeout(() => end(true), ms);
        wake = () => end(false);
      }),
    wakeAfter: (ms) => {
      waker ??= setTimeout(() => {
        waker = undefined;
        if (wake === undefined) isWoken = true;
        else wake();
      }, ms);
    },
  };
}
