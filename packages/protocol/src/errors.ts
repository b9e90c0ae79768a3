const brand = Symbol.for('@bestnotify/protocol/error');

/** Base of every error this package throws. Branch on `code`, never on `message`. */
export abstract class ProtocolError extends Error {
  abstract readonly code: 'PROTOCOL_BYTES' | 'PROTOCOL_ENVELOPE' | 'PROTOCOL_SECRET' | 'PROTOCOL_SIGNATURE';
  readonly [brand] = true;
}

/** True for our errors even when two copies of the package are installed. */
export function isProtocolError(value: unknown): value is ProtocolError {
  return typeof value === 'object' && value !== null && brand in value;
}

/** Something other than bytes was given where a signature or a digest covers bytes. */
export class BytesError extends ProtocolError {
  override readonly name = 'BytesError'; // a literal: class names do not survive minifiers
  readonly code = 'PROTOCOL_BYTES';
  /** What was given instead, as `typeof` says it. */
  readonly given: string;

  constructor(facts: { given: string }) {
    super(
      `The body is ${facts.given}, not bytes. Signatures cover the bytes on the wire: pass the raw request body as a Buffer, before any parser touches it.`,
    );
    this.given = facts.given;
  }
}

/** An envelope that cannot be written, or bytes that are not one. */
export class EnvelopeError extends ProtocolError {
  override readonly name = 'EnvelopeError';
  readonly code = 'PROTOCOL_ENVELOPE';
  /** The member at fault, or `body` when the bytes as a whole are. */
  readonly member: string;
  readonly problem: string;

  constructor(facts: { member: string; problem: string }) {
    super(`Envelope ${facts.member} ${facts.problem}.`);
    this.member = facts.member;
    this.problem = facts.problem;
  }
}

/** A secret or key that cannot be used. Its message never holds any part of it. */
export class SecretError extends ProtocolError {
  override readonly name = 'SecretError';
  readonly code = 'PROTOCOL_SECRET';
  readonly problem: string;
  /** The first wrong character, counted from 1, when one can be named. */
  readonly position: number | undefined;

  constructor(facts: { problem: string; position?: number | undefined }) {
    super(`Secret ${facts.problem}.`);
    this.problem = facts.problem;
    this.position = facts.position;
  }
}

/** Why a signature was refused; `too-old` and `too-new` are said only of signatures that are otherwise genuine. */
export type SignatureRefusal = 'missing' | 'malformed' | 'too-old' | 'too-new' | 'no-match';

/** The one error for everything that is wrong with a signature. Its message never holds a signature. */
export class SignatureError extends ProtocolError {
  override readonly name = 'SignatureError';
  readonly code = 'PROTOCOL_SIGNATURE';
  readonly reason: SignatureRefusal;
  /** The header at fault, in lower case. */
  readonly header: string;
  /** How far the receiver's clock is past the signed time, in seconds (negative: behind); only for `too-old` and `too-new`. */
  readonly skewSeconds: number | undefined;

  constructor(facts: { reason: SignatureRefusal; header: string; problem: string; skewSeconds?: number | undefined }) {
    super(`Header ${facts.header} ${facts.problem}.`);
    this.reason = facts.reason;
    this.header = facts.header;
    this.skewSeconds = facts.skewSeconds;
  }
}
