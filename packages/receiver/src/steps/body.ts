import { readHeader, type HeaderBag, type ReplyReason } from '@bestnotify/protocol';
import type { BodySource, IncomingNotification } from '../notification.js';
import type { ResolvedOptions } from '../options.js';

export type BodyOutcome = { body: Buffer } | { refused: ReplyReason };

/** Judges the head, so that nothing is read for a request that is refused anyway, then gets the raw bytes. */
export function takeBody(
  request: IncomingNotification,
  options: Pick<ResolvedOptions, 'maxBodyBytes' | 'bodyTimeoutMs'>,
): BodyOutcome | Promise<BodyOutcome> {
  if (request.method?.toUpperCase() !== 'POST') return { refused: 'method-not-allowed' };
  const encoding = readHeader(request.headers, 'content-encoding');
  if (encoding !== undefined && !/^(?:identity)?$/i.test(encoding.trim())) return { refused: 'unsupported-encoding' };
  const announced = readHeader(request.headers, 'content-length');
  if (announced !== undefined && Number(announced) > options.maxBodyBytes) return { refused: 'too-large' };
  if (typeof request.body === 'function') return readWith(request.body, options);
  return bounded(request.body, options.maxBodyBytes);
}

function readWith(
  read: Extract<BodySource, (...args: never) => unknown>,
  { maxBodyBytes, bodyTimeoutMs }: Pick<ResolvedOptions, 'maxBodyBytes' | 'bodyTimeoutMs'>,
): Promise<BodyOutcome> {
  return Promise.resolve(read({ maxBodyBytes, bodyTimeoutMs })).then((given) =>
    isProblem(given) ? { refused: given.problem } : bounded(given, maxBodyBytes),
  );
}

function isProblem(given: unknown): given is { problem: ReplyReason } {
  return typeof given === 'object' && given !== null && 'problem' in given;
}

/** Anything but bytes or text was parsed by somebody else, and printing it again would be other bytes than were signed. */
function bounded(given: unknown, maxBodyBytes: number): BodyOutcome {
  const body = toBuffer(given);
  if (body === undefined) return { refused: 'raw-body-missing' };
  return body.byteLength > maxBodyBytes ? { refused: 'too-large' } : { body };
}

function toBuffer(given: unknown): Buffer | undefined {
  if (Buffer.isBuffer(given)) return given;
  if (typeof given === 'string') return Buffer.from(given, 'utf8');
  if (given instanceof Uint8Array) return Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  if (given instanceof ArrayBuffer) return Buffer.from(given);
  return undefined;
}

const utf8Label = /;\s*charset\s*=\s*"?\s*([^";\s]*)/i;

/** Our own envelope is UTF-8 whatever the label; a label that says otherwise is a sender that is not ours to guess about. */
export function isUtf8Label(headers: HeaderBag): boolean {
  const contentType = readHeader(headers, 'content-type');
  if (contentType === undefined || contentType === 'application/json') return true;
  const label = utf8Label.exec(contentType)?.[1];
  return label === undefined || label === '' || /^utf-?8$/i.test(label);
}
