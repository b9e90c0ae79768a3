/** Why nothing was sent; each is a failure of the way there, not of the endpoint's program. */
export type NotSentBecause = 'dns' | 'connect' | 'tls' | 'forbidden-address' | 'invalid-url';

/** What one attempt met, before anybody judges it. `deliver` returns one of these and never throws. */
export type Outcome =
  /** A whole reply, or one cut at the read limit (`truncated`). */
  | {
      kind: 'replied';
      status: number;
      retryAfter: string | undefined;
      /** The header `bestnotify-reason`. */
      reason: string | undefined;
      /** Where a redirect would have led: origin and path only. */
      location: string | undefined;
      /** `content-length` as the endpoint sent it; it explains an empty body. */
      contentLength: string | undefined;
      contentEncoding: string | undefined;
      /** At most 64 KiB, as received: nothing is decompressed. */
      body: Buffer;
      truncated: boolean;
      durationMs: number;
    }
  /** The request may have arrived: time ran out, the connection broke, the reply was not HTTP or only half of one. */
  | { kind: 'no-answer'; error: string; durationMs: number; body?: Buffer; status?: number }
  /** The request cannot have arrived: no connection was made. */
  | { kind: 'not-sent'; because: NotSentBecause; error: string; durationMs: number }
  /** We stopped it. Never charged. */
  | { kind: 'aborted'; mayHaveArrived: boolean; durationMs: number }
  /** A fault of ours, such as no file descriptors left. Never charged. */
  | { kind: 'internal'; error: string; durationMs: number };

/** What an attempt means for its notification. */
export type Verdict =
  | { kind: 'delivered'; reason: string /* handled | duplicate | stale | ignored | acknowledged */ }
  | {
      kind: 'retry';
      /** A reason of the reply table, `status-503`, `wrong-reply`, `redirect`, `no-answer`, `dns`, `connect`, … */
      because: string;
      /** The row must not be sent again earlier than this many ms from now. */
      notBeforeMs?: number;
      /** What the merchant should change, when the reply was a near miss. */
      hint?: string;
      alert?: 'first' | 'each';
      /** 410 from the endpoint's own URL: two in a row disable it. */
      gone?: true;
    }
  | { kind: 'dead'; because: 'payload-conflict' | 'gone' }
  | { kind: 'uncharged'; because: string };

/** A verdict, and what the attempt means for the endpoint's health. */
export type Judgement = Verdict & {
  /** Counts towards parking the endpoint: no answer, not sent, 5xx, 429. */
  countsForBreaker: boolean;
  /** The whole endpoint should rest this many ms (at most 5 min): `retry-after` on 429 and 503. */
  endpointNotBeforeMs?: number;
};
