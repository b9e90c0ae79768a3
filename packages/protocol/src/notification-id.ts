import { randomBytes as cryptoRandomBytes } from 'node:crypto';

/** What may stand in `webhook-id`. */
export const notificationIdPattern = /^[A-Za-z0-9_-]{1,128}$/;

const prefix = 'ntf_';

/** The wire form of a notification's UUID, given as its 16 bytes or as text with hyphens. */
export function formatNotificationId(uuid: Uint8Array | string): string {
  if (typeof uuid === 'string') return prefix + uuid.toLowerCase();
  const hex = Buffer.from(uuid.buffer, uuid.byteOffset, uuid.byteLength).toString('hex');
  return `${prefix}${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * A fresh id: `ntf_` and a UUIDv7, so that ids made later sort later, to the millisecond.
 *
 * @param nowMs - unix time in milliseconds.
 * @param randomBytes - a source of randomness; tests pass their own.
 */
export function newNotificationId(
  nowMs: number,
  randomBytes: (sizeBytes: number) => Uint8Array = cryptoRandomBytes,
): string {
  const uuid = Buffer.allocUnsafe(16);
  uuid.writeUIntBE(nowMs, 0, 6);
  uuid.set(randomBytes(10), 6);
  uuid.writeUInt8((uuid.readUInt8(6) & 0x0f) | 0x70, 6); // version 7 (RFC 9562 §5.7)
  uuid.writeUInt8((uuid.readUInt8(8) & 0x3f) | 0x80, 8); // variant 10
  return formatNotificationId(uuid);
}

/** When an id that {@link newNotificationId} made was made, in ms since 1970. */
export function notificationTimeMs(id: string): number {
  return parseInt(id.slice(prefix.length, prefix.length + 8) + id.slice(prefix.length + 9, prefix.length + 13), 16);
}
