import { AsyncResource } from 'node:async_hooks';
import { AlreadyRecordedError, InboxUnavailableError } from './errors.js';
import type { HandlerContext } from './notification.js';
import type { Opened } from './steps/open-notification.js';
import type { ClaimRequest, InboxTransaction, Store } from './stores/store.js';

/** What a handler sees. The signal and the dates are made when they are first asked for: most handlers never do. */
export class RunContext implements HandlerContext {
  #controller: AbortController | undefined;
  #abort: ((reason: Error) => void) | undefined;
  #abortedBy: Error | undefined;

  constructor(
    private readonly opened: Opened,
    private readonly claimed: { attempt: number; fence: number },
    private readonly options: { store: Store; handlerTimeoutMs: number },
    private readonly request: ClaimRequest,
  ) {}

  get attempt(): number {
    return this.claimed.attempt;
  }
  get fence(): number {
    return this.claimed.fence;
  }
  get keyId(): string {
    return this.opened.keyId;
  }
  get rawBody(): Buffer {
    return this.opened.rawBody;
  }
  get receivedAt(): Date {
    return this.opened.receivedAt;
  }
  get deadline(): Date {
    return new Date(this.opened.receivedAt.getTime() + this.options.handlerTimeoutMs);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      // Deadlines share a timer, which is nobody's: what listens here runs in the async context of this request.
      this.#abort = AsyncResource.bind((reason: Error) => controller.abort(reason));
      if (this.#abortedBy !== undefined) controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  // A property, so that a handler may take it out of its context.
  readonly inbox = async (tx: InboxTransaction): Promise<void> => {
    const { store } = this.options;
    if (store.recordIn === undefined) throw new InboxUnavailableError({ store: store.kind });
    // A run that was given up must not commit after all: its notification may be running elsewhere already.
    if (this.#abortedBy !== undefined) throw this.#abortedBy;
    const found = await store.recordIn(tx, this.request);
    if (found !== 'recorded') throw new AlreadyRecordedError({ because: found });
  };

  abort(reason: Error): void {
    this.#abortedBy ??= reason;
    this.#abort?.(this.#abortedBy);
  }
}
