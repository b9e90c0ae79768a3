import {
  isAcknowledged,
  parseRetryAfter,
  replies,
  type AckRule,
  type Reply,
  type ReplyReason,
} from '@bestnotify/protocol';
import { hintFor, hintForStatus } from './reply-hint.js';
import type { Judgement, Outcome } from './outcome.js';

/** A platform's own rule of what acknowledges. Called for 2xx replies that were read to their end; must be synchronous. */
export type AckFunction = (reply: { status: number; body: Buffer }) => boolean;

/** What the judgement of one reply depends on, beside the reply. */
export interface JudgeContext {
  /** The endpoint's rule: `success`, `status`, `json-code`, or the name of a function in `acks`. */
  ack: string;
  acks?: Readonly<Record<string, AckFunction>>;
  /** Whether the URL was the notification's own, not its endpoint's. */
  isOwnUrl: boolean;
  /** What an HTTP date in `retry-after` is measured against. */
  now: Date;
}

type Replied = Extract<Outcome, { kind: 'replied' }>;

const longestRowFloorMs = 60 * 60 * 1000;
const longestEndpointFloorMs = 5 * 60 * 1000;
const deliveredReasons: ReadonlySet<string | undefined> = new Set(['handled', 'duplicate', 'stale', 'ignored']);

/** What an attempt means for its notification and for its endpoint's health. Pure: the same reply is always judged the same. */
export function judgeResponse(outcome: Outcome, context: JudgeContext): Judgement {
  switch (outcome.kind) {
    case 'replied':
      return judgeReply(outcome, context);
    case 'no-answer': {
      const hint = hintForStatus(outcome.status);
      return { kind: 'retry', because: 'no-answer', ...(hint !== undefined && { hint }), countsForBreaker: true };
    }
    case 'not-sent': {
      const { because } = outcome;
      // A refused address or URL is a setting to change, not an endpoint that is down.
      const isSetting = because === 'forbidden-address' || because === 'invalid-url';
      return { kind: 'retry', because, countsForBreaker: !isSetting, ...(isSetting && { alert: 'first' as const }) };
    }
    case 'aborted':
      return { kind: 'uncharged', because: 'stopped', countsForBreaker: false };
    case 'internal':
      return { kind: 'uncharged', because: 'internal', countsForBreaker: false };
    default:
      return outcome satisfies never;
  }
}

function judgeReply(reply: Replied, context: JudgeContext): Judgement {
  const acknowledgement = readAcknowledgement(reply, context);
  if (acknowledgement.isAcknowledged) {
    const reason = deliveredReasons.has(reply.reason) ? String(reply.reason) : 'acknowledged';
    return { kind: 'delivered', reason, countsForBreaker: false };
  }
  const row = tableRow(reply);
  if (row?.sender === 'dead') {
    return { kind: 'dead', because: 'payload-conflict', countsForBreaker: false };
  }
  if (reply.status === 410 && context.isOwnUrl) {
    return { kind: 'dead', because: 'gone', countsForBreaker: false };
  }
  const hint = acknowledgement.hint ?? hintFor(reply, context.ack);
  const alert = acknowledgement.alert ?? alertOf(reply.status, row);
  return {
    kind: 'retry',
    because: acknowledgement.because ?? becauseOf(reply, row),
    ...floors(reply, context.now),
    ...(hint !== undefined && { hint }),
    ...(alert !== undefined && { alert }),
    ...(reply.status === 410 && { gone: true as const }),
    countsForBreaker: reply.status === 429 || (reply.status >= 500 && reply.status <= 599 && !isRetryLater(reply)),
  };
}

interface Acknowledgement {
  isAcknowledged: boolean;
  because?: string;
  hint?: string;
  alert?: 'first' | 'each';
}

function readAcknowledgement(reply: Replied, { ack, acks = {} }: JudgeContext): Acknowledgement {
  if (isAckRule(ack)) {
    // Under the rule `status` the body says nothing, so one that was cut off says as much.
    return { isAcknowledged: (!reply.truncated || ack === 'status') && isAcknowledged(ack, reply) };
  }
  if (reply.status < 200 || reply.status > 299 || reply.truncated) {
    return { isAcknowledged: false };
  }
  const accepts = Object.hasOwn(acks, ack) ? acks[ack] : undefined;
  if (accepts === undefined) {
    const hint = `this worker has no function ${JSON.stringify(ack)}; register it in the sender option acks`;
    return { isAcknowledged: false, because: 'unknown-ack', hint, alert: 'each' };
  }
  return callFunction(accepts, ack, reply);
}

/** A platform's function may throw, or answer something else than a boolean: neither acknowledges, and neither stops a worker. */
function callFunction(accepts: AckFunction, name: string, reply: Replied): Acknowledgement {
  try {
    const answer: unknown = accepts({ status: reply.status, body: reply.body });
    if (typeof answer === 'boolean') {
      return { isAcknowledged: answer };
    }
    ignoreRejection(answer);
    const hint = `the ack function ${JSON.stringify(name)} did not return true or false; it must be synchronous`;
    return { isAcknowledged: false, because: 'ack-failed', hint, alert: 'first' };
  } catch {
    const hint = `the ack function ${JSON.stringify(name)} threw`;
    return { isAcknowledged: false, because: 'ack-failed', hint, alert: 'first' };
  }
}

function ignoreRejection(answer: unknown): void {
  if (answer instanceof Promise) {
    answer.catch(() => undefined);
  }
}

/** True for the rules of the protocol, which need no function of the platform's. */
export function isAckRule(ack: string): ack is AckRule {
  return ack === 'success' || ack === 'status' || ack === 'json-code';
}

/** Our own row, only if status and reason belong together: anybody can send one of the two. */
function tableRow(reply: Replied): Reply | undefined {
  const reason = reply.reason;
  if (reason === undefined || !Object.hasOwn(replies, reason)) {
    return undefined;
  }
  const row: Reply = replies[reason as ReplyReason];
  return row.status === reply.status ? row : undefined;
}

function becauseOf(reply: Replied, row: Reply | undefined): string {
  if (row !== undefined && row.sender === 'retry' && reply.reason !== undefined) {
    return reply.reason;
  }
  const { status } = reply;
  if (status >= 200 && status <= 299) {
    return 'wrong-reply';
  }
  if (status === 410) {
    return 'gone';
  }
  return status >= 300 && status <= 399 ? 'redirect' : `status-${status}`;
}

/** Receivers that are not ours send the same statuses without a reason; one word about each is enough. */
function alertOf(status: number, row: Reply | undefined): 'first' | 'each' | undefined {
  if (row !== undefined) {
    return row.alert === 'no' ? undefined : row.alert;
  }
  return status === 400 || status === 401 || status === 413 || status === 415 ? 'first' : undefined;
}

function floors(reply: Replied, now: Date): { notBeforeMs?: number; endpointNotBeforeMs?: number } {
  const { status } = reply;
  const asked = status === 409 || status === 429 || status === 503 ? parseRetryAfter(reply.retryAfter, now) : undefined;
  if (asked === undefined) {
    return {};
  }
  const notBeforeMs = Math.min(asked, longestRowFloorMs);
  // `retry-later` is about one notification, and 409 about one subject: the others need not wait.
  return status === 409 || isRetryLater(reply)
    ? { notBeforeMs }
    : { notBeforeMs, endpointNotBeforeMs: Math.min(asked, longestEndpointFloorMs) };
}

function isRetryLater(reply: Replied): boolean {
  return reply.status === 503 && reply.reason === 'retry-later';
}
