import { hash } from 'node:crypto';
import { checkBytes } from './bytes.js';
import { checkEnvelopeMember } from './envelope-members.js';
import { EnvelopeError } from './errors.js';
import { countOpening, isDeeperThan, maxDepth, parseJson } from './json.js';
import { hasRepeatedNames } from './repeated-names.js';

/** What a notification says: written to bytes once, when it is enqueued, and never again. */
export interface Envelope {
  /** The platform and its mode: `acme-pay-test` is another source than `acme-pay`. */
  source: string;
  /** The endpoint it was made for: the signed audience. */
  to: string;
  /** The event type. */
  type: string;
  /** The id of the event's own object: the payment, the refund (not its order). */
  bizId: string;
  /** What it is about, such as the order. */
  subject?: string;
  /** When it happened: RFC 3339 with an offset, as the caller gave it. */
  occurredAt?: string;
  /** The caller's own order of events about one subject, 0 to 2^53-1. */
  sequence?: number;
  /** Any JSON. Put amounts in strings: a JSON number loses digits. */
  data: unknown;
}

/** Largest body a sender accepts, in bytes. */
export const maxBodyBytes = 256 * 1024;

const required = ['source', 'to', 'type', 'bizId'] as const;
const optional = ['subject', 'occurredAt', 'sequence'] as const;

/**
 * Writes an envelope to its bytes, members in a fixed order, so that equal events have equal bytes.
 *
 * Members of `data` whose value is `undefined` are left out, as JSON has it. What JSON would change silently is refused:
 * `undefined` in an array, functions, symbols, NaN and the infinities. Every string is legal.
 *
 * @throws {@link EnvelopeError} naming the member at fault.
 */
export function encodeEnvelope(envelope: Envelope): Buffer {
  for (const member of required) checkEnvelopeMember(member, envelope[member]);
  for (const member of optional) if (envelope[member] !== undefined) checkEnvelopeMember(member, envelope[member]);
  const { source, to, type, bizId, subject, occurredAt, sequence } = envelope;
  const head = JSON.stringify({ source, to, type, bizId, subject, occurredAt, sequence });
  const text = `${head.slice(0, -1)},"data":${encodeData(envelope.data)}}`;
  const body = Buffer.from(text);
  if (countOpening(text, maxDepth) > maxDepth && isDeeperThan(body, maxDepth))
    throw dataError(`nests deeper than ${maxDepth - 1} levels`);
  return body;
}

function encodeData(data: unknown): string {
  try {
    const text = JSON.stringify(data, refuseSilentChange) as string | undefined;
    if (text !== undefined) return text;
  } catch (error) {
    if (error instanceof EnvelopeError) throw error;
    throw dataError(describeFailure(error));
  }
  throw dataError('is undefined after encoding; use null to say that there is none');
}

/** What {@link JSON.stringify} throws: TypeError for a cycle or a BigInt, RangeError when the stack ran out, or a `toJSON`'s own. */
function describeFailure(error: unknown): string {
  if (error instanceof RangeError) return `nests deeper than ${maxDepth - 1} levels`;
  if (error instanceof TypeError && /circular|cyclic/i.test(error.message))
    return 'contains itself, so it has no JSON form';
  if (error instanceof TypeError && /BigInt/i.test(error.message)) return 'contains a BigInt; write it as a string';
  return 'cannot be written as JSON: one of its toJSON methods or getters threw';
}

function refuseSilentChange(this: unknown, _name: string, value: unknown): unknown {
  const kind = typeof value;
  if (kind === 'string' || kind === 'boolean') return value;
  if (kind === 'number' && !Number.isFinite(value))
    throw dataError('contains NaN or an infinity, which JSON would write as null');
  if (kind === 'function' || kind === 'symbol') throw dataError(`contains a ${kind}, which has no JSON form`);
  if (kind === 'undefined' && Array.isArray(this))
    throw dataError('contains undefined in an array, which JSON would write as null');
  return value;
}

function bodyError(problem: string): EnvelopeError {
  return new EnvelopeError({ member: 'body', problem });
}

function dataError(problem: string): EnvelopeError {
  return new EnvelopeError({ member: 'data', problem });
}

/** How strictly an envelope is read. */
export interface DecodeOptions {
  /** Refuse JSON in which one object has two members of one name (in any ASCII case) instead of taking the last. @default false */
  refuseRepeatedNames?: boolean;
}

/**
 * Reads an envelope from *verified* bytes.
 *
 * Strict about what it knows (valid UTF-8 without a byte order mark, an object, every grammar, at most {@link maxDepth} levels),
 * silent about members it does not know. A repeated name means its last value, and integers beyond 2^53 lose digits: both are
 * how JavaScript reads JSON, so keep the bytes where that matters. A member called `__proto__` stays an ordinary member.
 *
 * @throws {@link EnvelopeError}; its message quotes nothing from the body.
 */
export function decodeEnvelope(body: Uint8Array, options: DecodeOptions = {}): Envelope {
  checkBytes(body);
  const parsed = parseJson(body);
  if ('problem' in parsed) throw bodyError(parsed.problem);
  const { value, text } = parsed;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bodyError('is not a JSON object');
  if (options.refuseRepeatedNames === true && hasRepeatedNames(text))
    throw bodyError('repeats a name within one object');
  const given = value as Record<string, unknown>;
  for (const member of required) checkEnvelopeMember(member, own(given, member));
  for (const member of optional) if (Object.hasOwn(given, member)) checkEnvelopeMember(member, given[member]);
  if (!Object.hasOwn(given, 'data')) throw dataError('is missing');
  return pick(given);
}

/** Only the known members, checked above, in the order of the wire. Written out: every notification comes through here. */
function pick(given: Record<string, unknown>): Envelope {
  const { source, to, type, bizId, data } = given as unknown as Envelope;
  const known = { source, to, type, bizId } as Envelope;
  if (Object.hasOwn(given, 'subject')) known.subject = given['subject'] as string;
  if (Object.hasOwn(given, 'occurredAt')) known.occurredAt = given['occurredAt'] as string;
  if (Object.hasOwn(given, 'sequence')) known.sequence = given['sequence'] as number;
  known.data = data;
  return known;
}

function own(given: Record<string, unknown>, member: string): unknown {
  return Object.hasOwn(given, member) ? given[member] : undefined;
}

/** SHA-256 of the body, in hex: two notifications with one business id conflict unless these are equal. */
export function payloadDigest(body: Uint8Array): string {
  checkBytes(body);
  return hash('sha256', body, 'hex');
}
