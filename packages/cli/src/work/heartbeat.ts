import { errorFacts } from '@bestnotify/protocol';
import type { Sender, Stats } from '@bestnotify/sender';
import { DatabaseSilentError } from '../errors.js';
import type { Log } from './log.js';

/** Watches whether the database answers. */
export interface Heartbeat {
  /** What the last beat saw; undefined before the first and while the database is away. */
  readonly stats: Stats | undefined;
  /** Rejects with {@link DatabaseSilentError} when the database has been silent for too long. */
  readonly failed: Promise<never>;
  stop(): void;
}

export interface HeartbeatParts {
  sender: Pick<Sender, 'operations'>;
  log: Pick<Log, 'error' | 'say'>;
  /** Monotonic, in ms. */
  nowMs: () => number;
  everyMs: number;
  /** How long the database may be silent, in ms. One that refuses connections is not silent: the driver tries again by itself. */
  silentMs: number;
}

/**
 * A connection that was cut without a word looks alive for a quarter of an hour, and the driver keeps waiting on it. Nothing short
 * of a new process is sure to have new connections.
 */
export function startHeartbeat({ sender, log, nowMs, everyMs, silentMs }: HeartbeatParts): Heartbeat {
  let stats: Stats | undefined;
  let silentSinceMs: number | undefined;
  let isAway = false;
  let isStopped = false;
  let fail: (error: DatabaseSilentError) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined); // whoever waits hears of it
  let timer: NodeJS.Timeout | undefined;

  const beat = async () => {
    const askedAtMs = nowMs();
    try {
      stats = await withDeadline(sender.operations.stats(), everyMs * 2);
      if (isAway) log.say('database-back', 'the database answers again');
      silentSinceMs = undefined;
      isAway = false;
    } catch (error) {
      stats = undefined;
      if (!isAway) {
        const facts = errorFacts(error);
        log.error({ event: 'database-away', error: facts }, `the database is away: ${facts.message}`);
      }
      isAway = true;
      if (!isSilence(error)) silentSinceMs = undefined;
      else silentSinceMs ??= askedAtMs + (isPaused(askedAtMs) ? nowMs() - askedAtMs : 0);
      if (silentSinceMs !== undefined && nowMs() - silentSinceMs >= silentMs) {
        fail(new DatabaseSilentError({ silentMs: nowMs() - silentSinceMs, cause: error }));
      }
    }
    if (!isStopped) timer = setTimeout(() => void beat(), everyMs);
  };
  // A process that was stopped, or a machine that slept, must not count its own absence as the database's silence.
  const isPaused = (askedAtMs: number) => nowMs() - askedAtMs > everyMs * 2 + 5_000;

  const first = setImmediate(() => void beat());
  return {
    get stats() {
      return stats;
    },
    failed,
    stop: () => {
      isStopped = true;
      clearImmediate(first);
      clearTimeout(timer);
    },
  };
}

class Silence extends Error {
  override readonly name = 'Silence';
}

function isSilence(error: unknown): boolean {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return error instanceof Silence || code === 'SENDER_DATABASE_TIMEOUT' || code === 'CONNECT_TIMEOUT';
}

async function withDeadline<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Silence(`No answer within ${timeoutMs} ms.`)), timeoutMs);
  });
  try {
    return await Promise.race([work, silence]);
  } finally {
    clearTimeout(timer);
  }
}
