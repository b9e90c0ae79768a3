import {
  checkEnvelopeMember,
  encodeEnvelope,
  isProtocolError,
  maxBodyBytes,
  type Envelope,
} from '@bestnotify/protocol';
import { BodyTooLargeError, NotificationRefusedError } from '../outbox/errors.js';

/** A body of the platform's own format, sent unchanged. */
export interface RawBody {
  bytes: Uint8Array;
  /** @default 'application/octet-stream' */
  contentType?: string;
}

/** One business event for one endpoint, as a caller gives it. */
export interface NotificationContent {
  source: string;
  to: string;
  type: string;
  bizId: string;
  subject: string | undefined;
  occurredAt: string | Date | undefined;
  sequence: number | undefined;
  data: unknown;
  raw: RawBody | undefined;
}

/**
 * The bytes of a notification, made once: what is stored, signed and sent on every attempt.
 *
 * @throws {@link NotificationRefusedError} for a member that cannot be encoded or is outside its grammar.
 * @throws {@link BodyTooLargeError} over 256 KiB.
 */
export function encodeBody(content: NotificationContent): { body: Buffer; contentType: string } {
  const encoded = content.raw === undefined ? encodeData(content) : checkRaw(content, content.raw);
  if (encoded.body.byteLength > maxBodyBytes) {
    throw new BodyTooLargeError({ sizeBytes: encoded.body.byteLength, limitBytes: maxBodyBytes });
  }
  return encoded;
}

function encodeData(content: NotificationContent): { body: Buffer; contentType: string } {
  const { source, to, type, bizId, subject, occurredAt, sequence, data } = content;
  // Written out: this is done for each notification, and an object that is spread costs several times as much.
  const envelope: Envelope = { source, to, type, bizId, data };
  if (subject !== undefined) envelope.subject = subject;
  if (occurredAt !== undefined) envelope.occurredAt = occurredAt instanceof Date ? isoOf(occurredAt) : occurredAt;
  if (sequence !== undefined) envelope.sequence = sequence;
  return { body: refusing(() => encodeEnvelope(envelope)), contentType: 'application/json' };
}

function checkRaw(content: NotificationContent, raw: RawBody): { body: Buffer; contentType: string } {
  const contentType = raw.contentType ?? 'application/octet-stream';
  if (!/^[\x20-\x7e]{1,128}$/.test(contentType)) {
    throw new NotificationRefusedError({
      member: 'raw.contentType',
      problem: 'must be 1 to 128 printable ASCII characters',
    });
  }
  if (content.data !== undefined) {
    throw new NotificationRefusedError({ member: 'raw', problem: 'and data were both given; give one of them' });
  }
  if (!(raw.bytes instanceof Uint8Array)) {
    throw new NotificationRefusedError({ member: 'raw.bytes', problem: 'must be a Buffer or Uint8Array' });
  }
  refusing(() => {
    for (const member of ['source', 'to', 'type', 'bizId'] as const) checkEnvelopeMember(member, content[member]);
    if (content.subject !== undefined) checkEnvelopeMember('subject', content.subject);
  });
  return { body: Buffer.from(raw.bytes), contentType };
}

/** A Date is written in UTC, so that the same moment always has the same bytes. */
function isoOf(at: Date): string {
  if (Number.isNaN(at.getTime()))
    throw new NotificationRefusedError({ member: 'occurredAt', problem: 'is an invalid date' });
  return at.toISOString();
}

/** The protocol's typed error as the sender's, which says that nothing was written. */
function refusing<T>(encode: () => T): T {
  try {
    return encode();
  } catch (error) {
    if (isProtocolError(error) && 'member' in error && 'problem' in error) {
      throw new NotificationRefusedError({
        member: String(error.member),
        problem: String(error.problem),
        cause: error,
      });
    }
    throw error;
  }
}
