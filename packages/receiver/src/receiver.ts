import { checkEnvelopeMember } from '@bestnotify/protocol';
import { answerNode, type ExpressHandler } from './adapters/node-request.js';
import { ConfigurationError } from './errors.js';
import { tell, type ReceiverStats } from './hooks.js';
import type { Handler, IncomingNotification, ReceiverReply } from './notification.js';
import { resolveOptions, type ReceiverOptions, type ReceiverParts } from './options.js';
import { processorKey } from './processor-key.js';
import { Processor } from './processor.js';
import { keySource } from './secrets.js';
import type { NotificationKey } from './stores/store.js';
import { meterReceiver } from './telemetry/open-telemetry.js';

/** Receives notifications of one platform for one merchant. */
export interface Receiver {
  /** Registers the handler of one type. @throws {@link ConfigurationError} if the type has one, or is none. */
  on(type: string, handler: Handler): Receiver;
  /** Answers any request with one row of the reply table. Never rejects. */
  handle(request: IncomingNotification): Promise<ReceiverReply>;
  /** A route handler for Express 4 and 5. Mount it before any body parser: it reads the raw body itself. */
  express(): ExpressHandler;
  /** What has been seen since the start: alert when `lastAcceptedAt` grows old. */
  stats(): ReceiverStats;
  /**
   * Drops the record of a notification, so that it runs again when it is resent: for a merchant restored from a backup.
   *
   * @param subject - needed for types under `latestOnly`; drops the subject's newest sequence as well.
   * @returns false when there was no record.
   */
  forget(key: Omit<NotificationKey, 'source' | 'to'>, subject?: string): Promise<boolean>;
  /** Resolves when no work is left that outlived its reply. Stop the server first. */
  drain(): Promise<void>;
  readonly [processorKey]: Processor;
}

/**
 * Makes a receiver.
 *
 * It checks each signed notification and skips those the handler has already finished. If the process dies after the handler's effect
 * and before that is recorded, the handler runs again: make it safe to repeat, or use `postgresInbox`.
 *
 * @throws {@link ConfigurationError} for options that cannot work.
 */
export function createReceiver(given: ReceiverOptions, parts: ReceiverParts = {}): Receiver {
  const options = resolveOptions(given, parts);
  const keys = keySource(options.secrets, options.profile, () => performance.now());
  const handlers = new Map<string, Handler>();
  const processor = new Processor(options, keys, (type) => handlers.get(type) ?? options.handler);
  warnAboutChoices(options);
  const receiver: Receiver = {
    [processorKey]: processor,
    on(type, handler) {
      register(handlers, type, handler);
      return receiver;
    },
    handle: (request) => processor.handle(request),
    express: () => (req, res) => void answerNode(receiver, req, res),
    stats: () => processor.counters.snapshot(),
    forget: (key, subject) => options.store.forget({ source: options.source, to: options.to, ...key }, subject),
    drain: () => processor.drain(),
  };
  meterReceiver(receiver);
  return receiver;
}

function register(handlers: Map<string, Handler>, type: string, handler: Handler): void {
  try {
    checkEnvelopeMember('type', type);
  } catch (cause) {
    throw new ConfigurationError({ option: 'on(type)', problem: 'is not an event type', cause });
  }
  if (typeof handler !== 'function')
    throw new ConfigurationError({ option: `on('${type}')`, problem: 'needs a function' });
  if (handlers.has(type))
    throw new ConfigurationError({ option: `on('${type}')`, problem: 'was already given a handler' });
  handlers.set(type, handler);
}

function warnAboutChoices({ store, profile, onWarning }: ReturnType<typeof resolveOptions>): void {
  if (profile === 'body-hmac') {
    tell(onWarning, {
      code: 'RECEIVER_REPLAYABLE_PROFILE',
      message: 'Profile body-hmac signs no time: whoever has seen a notification can send it again for ever.',
    });
  }
  if (store.kind === 'memory' && process.env['NODE_ENV'] === 'production') {
    tell(onWarning, {
      code: 'RECEIVER_MEMORY_STORE',
      message:
        'memoryStore forgets on restart and is not shared between processes: copies will run again. Use redisStore or postgresInbox.',
    });
  }
}
