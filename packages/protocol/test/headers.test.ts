import {
  formatNotificationId,
  newNotificationId,
  notificationIdPattern,
  parseTimestamp,
  readHeader,
  toTimestampSeconds,
} from '@bestnotify/protocol';
import { expect, test } from 'vitest';

test('a header is found whatever the case of its name, in plain objects and in fetch headers', () => {
  expect(readHeader({ 'Webhook-Id': 'a' }, 'webhook-id')).toBe('a');
  expect(readHeader(new Headers({ 'Webhook-Id': 'a' }), 'webhook-id')).toBe('a');
  expect(readHeader({ 'webhook-id': undefined }, 'webhook-id')).toBeUndefined();
  expect(readHeader({}, 'webhook-id')).toBeUndefined();
  expect(readHeader(new Headers(), 'webhook-id')).toBeUndefined();
});

test('a repeated header is joined, so that nobody takes one of two values', () => {
  expect(readHeader({ 'webhook-id': ['a', 'b'] }, 'webhook-id')).toBe('a, b');
  expect(readHeader({ 'webhook-id': 'a', 'WEBHOOK-ID': 'b' }, 'webhook-id')).toBe('a, b');
});

test('a header called get is a header', () => {
  expect(readHeader({ get: 'x', 'webhook-id': 'a' }, 'webhook-id')).toBe('a');
});

test('a new id is ntf_ and a UUIDv7 of the given moment', () => {
  const id = newNotificationId(Date.parse('2026-01-01T08:00:00Z'), (sizeBytes) => Buffer.alloc(sizeBytes, 0xff));
  expect(id).toBe('ntf_019b7892-1c00-7fff-bfff-ffffffffffff');
  expect(newNotificationId(0)).toMatch(/^ntf_00000000-0000-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(id).toMatch(notificationIdPattern);
});

test('ids made later sort later', () => {
  const ids = [1, 2, 1_767_254_400_000, 1_767_254_400_001, 2 ** 47].map((nowMs) => newNotificationId(nowMs));
  expect([...ids].sort()).toEqual(ids);
  expect(newNotificationId(1)).not.toBe(newNotificationId(1));
});

test('a UUID is formatted alike from bytes and from text', () => {
  const uuid = '019B78E5-4800-7FFF-BFFF-FFFFFFFFFFFF';
  expect(formatNotificationId(Buffer.from(uuid.replaceAll('-', ''), 'hex'))).toBe(formatNotificationId(uuid));
});

test('the wire counts whole seconds', () => {
  expect(toTimestampSeconds(new Date(1_767_254_400_999))).toBe(1_767_254_400);
  expect(parseTimestamp('1767254400')).toBe(1_767_254_400);
  expect(parseTimestamp('999999999999')).toBe(999_999_999_999);
  expect(parseTimestamp('1000000000000')).toBeUndefined();
  expect(parseTimestamp('')).toBeUndefined();
});
