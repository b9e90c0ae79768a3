import { AlreadyRecordedError, InboxUnavailableError } from './errors.js';
import type { HandlerContext } from './notification.js';
import type { ClaimRequest, InboxTransaction, Store } from './stores/store.js';

/** The facts of one run that its context shows. */
export interface RunFacts {
  attempt: number;
  fence: number;
  keyId: string;
  rawBody: Buffer;
  receivedAt: Date;
  handlerTimeoutMs: number;
}

/** What a handler sees. The signal and the dates are made when they are first asked for: most handlers never do. */
export class RunContext implements HandlerContext {
  #controller: AbortController | undefined;
  #abortedBy: Error | undefined;

  constructor(
    private readonly facts: RunFacts,
    private readonly store: Store,
    private readonly request: ClaimRequest,
  ) {}

  get attempt(): number {
    return this.facts.attempt;
  }
  get fence(): number {
    return this.facts.fence;
  }
  get keyId(): string {
    return this.facts.keyId;
  }
  get rawBody(): Buffer {
    return this.facts.rawBody;
  }
  get receivedAt(): Date {
    return this.facts.receivedAt;
  }
  get deadline(): Date {
    return new Date(this.facts.receivedAt.getTime() + this.facts.handlerTimeoutMs);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortedBy !== undefined) this.#controller.abort(this.#abortedBy);
    }
    return this.#controller.signal;
  }

  // A property, so that a handler may take it out of its context.
  readonly inbox = async (tx: InboxTransaction): Promise<void> => {
    if (this.store.recordIn === undefined) throw new InboxUnavailableError({ store: this.store.kind });
    // A run that was given up must not commit after all: its notification may be running elsewhere already.
    if (this.#abortedBy !== undefined) throw this.#abortedBy;
    const found = await this.store.recordIn(tx, this.request);
    if (found !== 'recorded') throw new AlreadyRecordedError({ because: found });
  };

  abort(reason: Error): void {
    this.#abortedBy ??= reason;
    this.#controller?.abort(this.#abortedBy);
  }
}
