const brand = Symbol.for('@bestnotify/sender/error');

/** Every code that this package throws; each has a heading in docs/errors.md. */
export type SenderErrorCode =
  | 'SENDER_CONFIGURATION'
  | 'SENDER_ENDPOINT_URL'
  | 'SENDER_NOTIFICATION_REFUSED'
  | 'SENDER_BODY_TOO_LARGE'
  | 'SENDER_UNKNOWN_ENDPOINT'
  | 'SENDER_PAYLOAD_CONFLICT'
  | 'SENDER_SECRET_MISMATCH'
  | 'SENDER_SECRET_IN_USE'
  | 'SENDER_SECRET_SEAL'
  | 'SENDER_UNKNOWN_NOTIFICATION'
  | 'SENDER_ILLEGAL_STATE'
  | 'SENDER_DUPLICATE_EFFECT'
  | 'SENDER_SCHEMA_TOO_NEW'
  | 'SENDER_SCHEMA_MISSING'
  | 'SENDER_CLOSED'
  | 'SENDER_DATABASE_LOCKED'
  | 'SENDER_DATABASE_TIMEOUT';

/** Base of every error this package throws. Branch on `code`, never on `message`. */
export abstract class SenderError extends Error {
  abstract readonly code: SenderErrorCode;
  readonly [brand] = true;
}

/** True for our errors even when two copies of the package are installed. */
export function isSenderError(value: unknown): value is SenderError {
  return typeof value === 'object' && value !== null && brand in value;
}

/** Options that cannot work. Thrown where the options are given, never while a worker runs. */
export class ConfigurationError extends SenderError {
  override readonly name = 'ConfigurationError'; // a literal: class names do not survive minifiers
  readonly code = 'SENDER_CONFIGURATION';
  /** The option to change, as the caller wrote it: `policies.fast.gapsMs[1]`. */
  readonly option: string;

  /** @param facts - `problem` continues "Option x …"; `fix` is the next step, a whole sentence. */
  constructor(facts: { option: string; problem: string; fix?: string }) {
    super(`Option ${facts.option} ${facts.problem}.${facts.fix === undefined ? '' : ` ${facts.fix}`}`);
    this.option = facts.option;
  }
}

/** What is wrong with an endpoint's URL, for code that wants to point at the part. */
export type UrlProblem =
  | 'not-a-url'
  | 'too-long'
  | 'characters'
  | 'scheme'
  | 'http-not-allowed'
  | 'user-info'
  | 'fragment'
  | 'host'
  | 'port'
  | 'forbidden-address';

/** A URL that must not or cannot be called. The message never holds user info or a query. */
export class EndpointUrlError extends SenderError {
  override readonly name = 'EndpointUrlError';
  readonly code = 'SENDER_ENDPOINT_URL';
  readonly problem: UrlProblem;

  /** @param facts - `detail` is what is wrong and what to do, whole sentences without user info or query. */
  constructor(facts: { problem: UrlProblem; detail: string }) {
    super(`This endpoint URL cannot be used. ${facts.detail}`);
    this.problem = facts.problem;
  }
}
