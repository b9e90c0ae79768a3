import type { HeaderBag } from '@bestnotify/protocol';
import type { InboxTransaction } from './stores/store.js';

/** One business event, after its signature, audience and grammar have been checked. */
export interface Notification {
  /** The `webhook-id`: the same on every attempt. */
  readonly id: string;
  readonly source: string;
  readonly to: string;
  readonly type: string;
  readonly bizId: string;
  readonly subject?: string;
  readonly occurredAt?: string;
  readonly sequence?: number;
  /** The envelope's `data`, or what `identify` returned as `data`. Check its shape: it is the platform's word, not a type. */
  readonly data: unknown;
}

/** What a handler may need besides the event. */
export interface HandlerContext {
  /** 1 on the first run. Above 1, an earlier run may have done part of the work. */
  readonly attempt: number;
  /** Grows with every run of this key. A database that keeps the largest one it saw can refuse a run that was overtaken. */
  readonly fence: number;
  /** Aborted when the deadline passes or the lease is lost. After that the answer was `fail`: stop, and change nothing more. */
  readonly signal: AbortSignal;
  readonly deadline: Date;
  readonly receivedAt: Date;
  /** The `id` of the secret that matched, or its place in the list. */
  readonly keyId: string;
  /** The exact bytes that were signed. */
  readonly rawBody: Buffer;
  /**
   * Only with `postgresInbox`: writes the record in your own transaction, so that effect and record commit together.
   *
   * @throws {@link AlreadyRecordedError} when another run has committed first. Do not catch it inside the transaction.
   */
  inbox(tx: InboxTransaction): Promise<void>;
}

/** Resolving means done: `success` is answered and the event never runs again. Whatever it returns is ignored. */
export type Handler = (notification: Notification, context: HandlerContext) => unknown;

/** Why a body could not be read. */
export type BodyProblem = 'too-large' | 'body-timeout' | 'raw-body-missing';

export interface BodyLimits {
  maxBodyBytes: number;
  bodyTimeoutMs: number;
}

/** The signed bytes. Text is taken as UTF-8. A function is asked only after the head of the request was accepted. */
export type GivenBody = Uint8Array | ArrayBuffer | string;
export type BodySource = GivenBody | ((limits: BodyLimits) => Promise<GivenBody | BodyProblemReport>);

export interface BodyProblemReport {
  problem: BodyProblem;
}

/** One HTTP request, whatever server it came through. */
export interface IncomingNotification {
  method: string | undefined;
  headers: HeaderBag;
  body: BodySource;
}

/** One HTTP response. Send exactly this; anything added around the word makes the sender repeat. */
export interface ReceiverReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}
