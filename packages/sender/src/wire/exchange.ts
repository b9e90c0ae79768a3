import type { Dispatcher } from 'undici';
import { headerNames } from '@bestnotify/protocol';
import { describeUrl } from '../rules/urls.js';
import { describeError, isOurFault, NotSentError } from './not-sent-error.js';
import type { Outcome } from '../worker/outcome.js';

/** Longest reply that is read; the rest of a longer one is not waited for. */
const maxReplyBytes = 64 * 1024;

/** Any number is legal, and a storm of them costs us more than it costs its sender. */
const maxInterimReplies = 100;

type Headers = Record<string, string | string[] | undefined>;
const noHeaders: Headers = {};

/**
 * One request and its reply, as undici reports them. Ends exactly once, with an outcome, whatever comes in whatever order;
 * what still comes after that is ignored.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** On the clock of `performance.now()`. */
  readonly startedAtMs = performance.now();
  /** Ends it when it is aborted. */
  readonly signal: AbortSignal | undefined;
  readonly #onEnd: (outcome: Outcome) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #hasEnded = false;
  #interimReplies = 0;
  #status = 0;
  #headers: Headers = noHeaders;
  #chunks: Buffer[] = [];
  #sizeBytes = 0;

  constructor(signal: AbortSignal | undefined, onEnd: (outcome: Outcome) => void) {
    this.signal = signal;
    this.#onEnd = onEnd;
  }

  /** Called right before the request is written. Before it nothing can have arrived, after it everything may have. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#hasEnded) {
      throw new Error('ended while it waited for a connection'); // undici then skips the request and keeps the connection
    }
    if (this.#controller !== undefined) {
      controller.abort(new Error('a request is never written twice'));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    if (status >= 200) {
      this.#status = status;
      this.#headers = headers;
    } else if ((this.#interimReplies += 1) > maxInterimReplies) {
      this.#stop(this.#noAnswer(`more than ${maxInterimReplies} interim replies`));
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = maxReplyBytes - this.#sizeBytes;
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#sizeBytes += Math.min(chunk.length, room);
    if (chunk.length > room) {
      this.#end(this.#reply(true));
      this.#controller?.abort(new Error('the reply was longer than is read'));
    }
  }

  onResponseEnd(): void {
    this.#end(this.#reply(false));
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#end(this.#failure(error));
  }

  /** Ends it because time is up. */
  timeOut(timeoutMs: number): void {
    const error = this.#whatIsMissing(timeoutMs);
    this.#stop(
      this.#controller === undefined
        ? { kind: 'not-sent', because: 'connect', error, durationMs: this.#elapsedMs() }
        : this.#noAnswer(error),
    );
  }

  /** Ends it because we are stopping. */
  abort(): void {
    this.#stop({ kind: 'aborted', mayHaveArrived: this.#controller !== undefined, durationMs: this.#elapsedMs() });
  }

  #stop(outcome: Outcome): void {
    if (!this.#hasEnded) {
      this.#end(outcome);
      this.#controller?.abort(new Error('stopped'));
    }
  }

  #end(outcome: Outcome): void {
    if (!this.#hasEnded) {
      this.#hasEnded = true;
      this.#chunks = [];
      this.#onEnd(outcome);
    }
  }

  #elapsedMs(): number {
    return performance.now() - this.startedAtMs;
  }

  /** Copied: a slice of seven bytes would keep the 64 KiB it was read into. */
  #body(): Buffer {
    return Buffer.concat(this.#chunks, this.#sizeBytes);
  }

  #reply(truncated: boolean): Outcome {
    const headers = this.#headers;
    const location = first(headers['location']);
    return {
      kind: 'replied',
      status: this.#status,
      retryAfter: first(headers['retry-after']),
      reason: first(headers[headerNames.reason]),
      location: location === undefined ? undefined : describeUrl(location),
      contentLength: first(headers['content-length']),
      contentEncoding: first(headers['content-encoding']),
      body: this.#body(),
      truncated,
      durationMs: this.#elapsedMs(),
    };
  }

  #noAnswer(error: string): Outcome {
    return {
      kind: 'no-answer',
      error,
      durationMs: this.#elapsedMs(),
      // Kept for the log only: half a reply is no reply.
      ...(this.#status !== 0 && { status: this.#status }),
      ...(this.#sizeBytes > 0 && { body: this.#body() }),
    };
  }

  #failure(error: Error): Outcome {
    const durationMs = this.#elapsedMs();
    const text = describeFailure(error);
    if (this.#controller !== undefined) {
      return this.#noAnswer(text);
    }
    if (error instanceof NotSentError) {
      return { kind: 'not-sent', because: error.because, error: text, durationMs };
    }
    if ((error as { code?: string }).code === 'UND_ERR_INVALID_ARG') {
      return { kind: 'not-sent', because: 'invalid-url', error: `the request cannot be written: ${text}`, durationMs };
    }
    return isOurFault(error) || isClosed(error)
      ? { kind: 'internal', error: text, durationMs }
      : { kind: 'not-sent', because: 'connect', error: text, durationMs };
  }

  #whatIsMissing(timeoutMs: number): string {
    const within = `within ${timeoutMs} ms`;
    if (this.#controller === undefined) {
      return `no connection was free ${within}`;
    }
    return this.#status === 0
      ? `no reply ${within}`
      : `the reply did not end ${within} (status ${this.#status}, ${this.#sizeBytes} bytes so far)`;
  }
}

function first(value: string | string[] | undefined): string | undefined {
  return Array.isArray(value) ? value[0] : value;
}

function isClosed(error: Error): boolean {
  const { code } = error as { code?: string };
  return code === 'UND_ERR_DESTROYED' || code === 'UND_ERR_CLOSED';
}

const plainWords = new Map([
  ['UND_ERR_HEADERS_OVERFLOW', 'invalid HTTP: the headers are longer than 16 KiB'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'invalid HTTP: the body is not as long as content-length says'],
]);

/** In the merchant's words where the library's own say little. */
function describeFailure(error: Error): string {
  const { code = '' } = error as { code?: string };
  if (code.startsWith('HPE_')) {
    return `invalid HTTP: ${describeError(error)}`;
  }
  return code === 'UND_ERR_SOCKET'
    ? `the connection ended before the reply did: ${error.message}`
    : (plainWords.get(code) ?? describeError(error));
}
