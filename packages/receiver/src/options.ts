import { checkEnvelopeMember, systemClock, toleranceSeconds, type Clock, type Logger } from '@bestnotify/protocol';
import { ConfigurationError } from './errors.js';
import type { ReceiverHooks } from './hooks.js';
import type { Identify } from './identify.js';
import type { Handler } from './notification.js';
import type { ReplyFormat } from './steps/reply.js';
import type { Secrets } from './secrets.js';
import type { Store } from './stores/store.js';
import { ownLogger, warnInto } from './telemetry/log-reply.js';
import { emitWarning } from './warn.js';

/** What a receiver must be told, and what it may be. For the defaults see {@link receiverDefaults}. */
export interface ReceiverOptions extends ReceiverHooks {
  /** The platform whose notifications are taken. Anything signed for another source is refused. */
  source: string;
  /** Who we are to that platform. A genuine notification for somebody else is refused. */
  to: string;
  /** `whsec_…` or `whpk_…`: one, a list while keys are rotated, or a function that fetches them (kept for 60 s). */
  secrets: Secrets;
  /** Where it is remembered what is running and what is done. */
  store: Store;
  /** One handler for every type; or register one per type with `receiver.on`. */
  handler?: Handler;
  /** What to do with a type that has no handler. @default 'ignore' */
  unhandled?: 'ignore' | 'fail';
  /** `body-hmac` is for platforms that sign the body alone; such requests can be replayed. @default 'v1' */
  profile?: 'v1' | 'body-hmac';
  /** Finds type and business id in a verified body that is not our envelope. */
  identify?: Identify;
  /**
   * Types of which only the newest state per `subject` matters. Older ones are skipped. Wrong for deltas such as refunds: skipping
   * one of those loses money. @default []
   */
  latestOnly?: readonly string[];
  /** How the two words are written. @default 'success' */
  replyFormat?: ReplyFormat;
  /** How long a run may go unrenewed before another may start, in ms. @default 30_000 */
  leaseMs?: number;
  /** How often a run renews its lease, in ms. At most half of `leaseMs`. @default 10_000 */
  heartbeatMs?: number;
  /** When a handler is told to stop and `fail` is answered, in ms. Keep it below the sender's timeout of 10 s. @default 8_000 */
  handlerTimeoutMs?: number;
  /** How long a record is kept, in ms. Must outlive the sender's last repeat. @default 604_800_000 */
  retentionMs?: number;
  /** How long the sender may go on repeating, in ms. @default 518_400_000 */
  senderHorizonMs?: number;
  /** How far the signed time may be off, in s. @default 300 */
  toleranceSeconds?: number;
  /** Largest body that is read, in bytes. @default 1_048_576 */
  maxBodyBytes?: number;
  /** Longest wait for a whole body, in ms. @default 5_000 */
  bodyTimeoutMs?: number;
  /** Longest wait for one answer of the store, in ms. @default 2_000 */
  storeTimeoutMs?: number;
  /** Where every answered request is logged, and warnings unless `onWarning` takes them; in the shape of pino. Left out, nothing is. */
  logger?: Logger;
}

const day = 24 * 60 * 60 * 1000;

export const receiverDefaults = {
  unhandled: 'ignore',
  profile: 'v1',
  latestOnly: [] as readonly string[],
  replyFormat: 'success',
  leaseMs: 30_000,
  heartbeatMs: 10_000,
  handlerTimeoutMs: 8_000,
  retentionMs: 7 * day,
  senderHorizonMs: 6 * day,
  toleranceSeconds,
  maxBodyBytes: 1024 * 1024,
  bodyTimeoutMs: 5_000,
  storeTimeoutMs: 2_000,
  onWarning: emitWarning,
} as const satisfies Partial<ReceiverOptions>;

/** What a receiver borrows from its host. Tests pass a clock of their own. */
export interface ReceiverParts {
  clock?: Clock;
}

export type ResolvedOptions = ReceiverOptions &
  Required<Pick<ReceiverOptions, keyof typeof receiverDefaults>> & { clock: Clock };

/** @throws {@link ConfigurationError} naming the first option that cannot work. */
export function resolveOptions(given: ReceiverOptions, parts: ReceiverParts): ResolvedOptions {
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const options = { ...receiverDefaults, clock: parts.clock ?? systemClock, ...known } as ResolvedOptions;
  checkNames(options);
  checkParts(options);
  checkNumbers(options);
  if (options.logger !== undefined) {
    checkLogger(options.logger);
    options.logger = ownLogger(options.logger);
    if (given.onWarning === undefined) options.onWarning = warnInto(options.logger);
  }
  return Object.freeze(options);
}

function refuse(option: string, problem: string, cause?: unknown): never {
  throw new ConfigurationError({ option, problem, cause });
}

function checkNames(options: ResolvedOptions): void {
  for (const option of ['source', 'to'] as const) {
    try {
      checkEnvelopeMember(option, options[option]);
    } catch (cause) {
      refuse(option, 'must be 1 to 128 printable ASCII characters without spaces', cause);
    }
  }
  if (!Array.isArray(options.latestOnly)) refuse('latestOnly', 'must be a list of types');
  for (const type of options.latestOnly) {
    try {
      checkEnvelopeMember('type', type);
    } catch (cause) {
      refuse('latestOnly', 'holds something that is not an event type', cause);
    }
  }
}

function checkParts(options: ResolvedOptions): void {
  const verbs = ['acquire', 'renew', 'complete', 'release', 'forget'] as const;
  const store = options.store as Store | undefined;
  if (!verbs.every((verb) => typeof store?.[verb] === 'function')) {
    refuse('store', 'must be a store: redisStore(redis), postgresInbox({ database }) or memoryStore()');
  }
  if (!['v1', 'body-hmac'].includes(options.profile)) refuse('profile', "must be 'v1' or 'body-hmac'");
  if (!['ignore', 'fail'].includes(options.unhandled)) refuse('unhandled', "must be 'ignore' or 'fail'");
  const format: unknown = options.replyFormat;
  if (format !== 'success' && format !== 'json-code' && typeof format !== 'function') {
    refuse('replyFormat', "must be 'success', 'json-code' or a function");
  }
  for (const option of [
    'handler',
    'identify',
    'onConflict',
    'onInvalid',
    'onDuplicate',
    'onError',
    'onWarning',
  ] as const) {
    if (options[option] !== undefined && typeof options[option] !== 'function') refuse(option, 'must be a function');
  }
}

function checkLogger(logger: Partial<Logger>): void {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  if (!levels.every((level) => typeof logger[level] === 'function'))
    refuse('logger', `must have the methods ${levels.join(', ')}: pass pino(), or console`);
}

function checkNumbers(options: ResolvedOptions): void {
  for (const option of Object.keys(receiverDefaults) as (keyof typeof receiverDefaults)[]) {
    if (typeof receiverDefaults[option] !== 'number') continue;
    const value = options[option] as number;
    if (!Number.isSafeInteger(value) || value < 1) refuse(option, 'must be a positive integer');
  }
  const { leaseMs, heartbeatMs, handlerTimeoutMs, retentionMs, senderHorizonMs } = options;
  if (heartbeatMs * 2 > leaseMs)
    refuse('heartbeatMs', `must be at most half of leaseMs (${leaseMs} ms), or one late renewal loses the lease`);
  if (Math.max(leaseMs, handlerTimeoutMs) > 2 ** 31 - 1)
    refuse('leaseMs', 'and handlerTimeoutMs must fit a timer (24.8 days)');
  if (retentionMs < senderHorizonMs + leaseMs) {
    refuse(
      'retentionMs',
      `must be at least ${senderHorizonMs + leaseMs} ms (senderHorizonMs + leaseMs), or the sender's last repeat comes after the record is gone and runs the handler again`,
    );
  }
}
