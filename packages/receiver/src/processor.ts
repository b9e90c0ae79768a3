import { randomUUID } from 'node:crypto';
import { replies, type HeaderBag, type ReplyReason } from '@bestnotify/protocol';
import { Counters } from './counters.js';
import { NoHandlerError } from './errors.js';
import { tell } from './hooks.js';
import { Lease } from './lease.js';
import type { Handler, IncomingNotification, ReceiverReply } from './notification.js';
import type { ResolvedOptions } from './options.js';
import { RunContext } from './run-context.js';
import type { KeySource } from './secrets.js';
import { isSignatureError } from './steps/check-signature.js';
import { claimKey } from './steps/claim-key.js';
import { openNotification, type Opened, type Refused } from './steps/open-notification.js';
import { recordGivenUp, recordOutcome, type Recorded, type RecordParts } from './steps/record-outcome.js';
import { replyWriter, type WriteReply } from './steps/reply.js';
import { HandlerRun } from './steps/run-handler.js';
import { logReply } from './telemetry/log-reply.js';
import { observeHandler, type RunListener } from './telemetry/observe-handler.js';
import type { ClaimRequest, NotificationKey } from './stores/store.js';

/** How a request ended, with what the hooks want to know about it. */
export interface Answer extends Recorded {
  opened?: Opened;
}

/** Runs the steps in order, for every adapter and for the separate Express pieces. */
export class Processor {
  readonly counters = new Counters();
  /** Told how long each handler ran. */
  readonly runListeners: RunListener[] = [];
  readonly #write: WriteReply;
  readonly #kept = new Set<Promise<unknown>>();
  readonly #warnedTypes = new Set<string>();

  constructor(
    readonly options: ResolvedOptions,
    readonly keys: KeySource,
    private readonly handlerOf: (type: string) => Handler | undefined,
  ) {
    this.#write = replyWriter(options.replyFormat);
  }

  /** Answers any request with one row of the table. Never rejects. */
  async handle(request: IncomingNotification): Promise<ReceiverReply> {
    try {
      return this.reply(await this.#process(request));
    } catch (error) {
      return this.reply({ reason: 'handler-error', error });
    }
  }

  open(request: IncomingNotification): Promise<Opened | Refused> {
    return openNotification(request, this.options, this.keys);
  }

  /** The handler as traces and meters see it: itself, unless somebody looks. */
  observed(handler: Handler, headers: HeaderBag): Handler {
    return observeHandler(handler, headers, this.runListeners);
  }

  async #process(request: IncomingNotification): Promise<Answer> {
    const opened = await this.open(request);
    if ('refused' in opened) return { reason: opened.refused, error: opened.error };
    const handler = this.handlerOf(opened.notification.type);
    const answer: Answer =
      handler === undefined
        ? this.#unhandled(opened.notification.type)
        : await this.run(opened, this.observed(handler, request.headers));
    answer.opened = opened;
    return answer;
  }

  /** Claims the key, runs the handler under its lease and deadline, and records how that ended. */
  async run(opened: Opened, handler: Handler): Promise<Recorded> {
    const { options, counters } = this;
    const { key, digest, leaseMs, retentionMs, order } = opened.claim;
    const request: ClaimRequest = { key, digest, token: randomUUID(), leaseMs, retentionMs };
    if (order !== undefined) request.order = order;
    const claimed = await claimKey(request, options);
    if ('refused' in claimed) {
      const { refused, retryAfterMs, error } = claimed;
      return { reason: refused, error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    }
    const run = new HandlerRun(handler, opened, new RunContext(opened, claimed, options, request));
    const lease = new Lease(options, request, claimed.askedAtMs, () => {
      counters.leasesLost += 1;
      run.loseLease();
    });
    const parts: RecordParts = { options, request, id: opened.notification.id, lease, counters, keep: this.keep };
    counters.running += 1;
    const running = run.outcome(options.handlerTimeoutMs);
    const outcome = running instanceof Promise ? await running : running;
    if (outcome.kind === 'given-up') {
      this.keep(recordGivenUp(outcome.ended, parts));
      void outcome.ended.then(() => (counters.running -= 1));
      return { reason: 'handler-error', error: outcome.error };
    }
    counters.running -= 1;
    return await recordOutcome(outcome, parts);
  }

  #unhandled(type: string): Recorded {
    if (this.options.unhandled === 'fail') return { reason: 'handler-error', error: new NoHandlerError({ type }) };
    // A platform may send any number of types; remembering them all must not become a leak.
    if (this.#warnedTypes.size < 1_000 && !this.#warnedTypes.has(type)) {
      this.#warnedTypes.add(type);
      tell(this.options.onWarning, {
        code: 'RECEIVER_UNHANDLED_TYPE',
        message: `No handler for type ${type}: its notifications are answered success and dropped. Register one, or choose unhandled: 'fail'.`,
      });
    }
    return { reason: 'ignored' };
  }

  /** Counts an answer, tells the hooks, and writes it. */
  reply(answer: Answer): ReceiverReply {
    const { reason, retryAfterMs } = answer;
    this.counters.replies[reason] += 1;
    if (replies[reason].word === 'success') this.counters.lastAcceptedAtMs = this.options.clock().getTime();
    if (reason !== 'handled' && reason !== 'ignored') this.#tellHooks(answer);
    if (this.options.logger !== undefined) logReply(this.options.logger, answer);
    return this.#write(reason, retryAfterMs);
  }

  #tellHooks({ reason, error, opened }: Answer): void {
    const { options, counters } = this;
    if (isSignatureError(error)) counters.signatures[error.reason] += 1;
    const key: NotificationKey | undefined = opened?.claim.key;
    const id = opened?.notification.id ?? '';
    if (reason === 'duplicate' && key !== undefined) tell(options.onDuplicate, { key, id });
    else if (reason === 'payload-conflict' && key !== undefined) tell(options.onConflict, { key, id });
    else if (isInternal(reason)) {
      if (error !== undefined) tell(options.onError, { reason, error, key });
    } else if (key === undefined) {
      const fault = error instanceof Error ? error : undefined;
      tell(options.onInvalid, { reason, message: fault?.message ?? plainMessage[reason] ?? reason, error: fault });
    }
  }

  /** Takes work that outlives its reply. */
  readonly keep = (work: Promise<unknown>): void => {
    const kept = work.catch(() => undefined).finally(() => this.#kept.delete(kept));
    this.#kept.add(kept);
  };

  async drain(): Promise<void> {
    while (this.#kept.size > 0) await Promise.all(this.#kept);
  }
}

function isInternal(reason: ReplyReason): boolean {
  return (
    reason === 'handler-error' ||
    reason === 'store-unavailable' ||
    reason === 'retry-later' ||
    reason === 'raw-body-missing'
  );
}

const plainMessage: Partial<Record<ReplyReason, string>> = {
  'wrong-audience': 'A genuine notification for another source or another receiver. Check source and to.',
  'too-large': 'The body is larger than maxBodyBytes.',
  'unsupported-encoding': 'The body has a content-encoding or a charset that is not accepted.',
  'body-timeout': 'The body did not arrive within bodyTimeoutMs.',
  'method-not-allowed': 'Notifications come by POST.',
  malformed: 'A type under latestOnly came without subject or sequence.',
};
