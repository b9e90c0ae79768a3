import { acknowledgement, isAcknowledged, replies, type Reply } from '@bestnotify/protocol';
import { expect, test } from 'vitest';

const rows = Object.entries(replies) as [string, Reply][];

test('the table is the one of the protocol', () => {
  const table = rows.map(([reason, row]) =>
    [reason, row.status, row.word, row.retryAfter, row.sender, row.alert].join(' '),
  );
  expect(table).toEqual([
    'handled 200 success false delivered no',
    'duplicate 200 success false delivered no',
    'stale 200 success false delivered no',
    'ignored 200 success false delivered no',
    'in-progress 409 fail true retry no',
    'payload-conflict 422 fail false dead each',
    'handler-error 500 fail false retry no',
    'retry-later 503 fail true retry no',
    'store-unavailable 503 fail true retry no',
    'invalid-signature 401 fail false retry each',
    'stale-timestamp 401 fail false retry each',
    'wrong-audience 401 fail false retry each',
    'malformed 400 fail false retry each',
    'too-large 413 fail false retry first',
    'unsupported-encoding 415 fail false retry first',
    'body-timeout 408 fail false retry no',
    'method-not-allowed 405 fail false retry no',
    'raw-body-missing 500 fail false retry no',
  ]);
});

test.each(['success', 'status', 'json-code'] as const)(
  'under %s a sender reads each row as the receiver meant it',
  (rule) => {
    for (const [, row] of rows) {
      const { body } = acknowledgement(rule, row.word);
      expect(isAcknowledged(rule, { status: row.status, body })).toBe(row.sender === 'delivered');
    }
  },
);

test('R043 a fault of the store or the handler never looks like a wrong signature', () => {
  const statusOf = (reason: keyof typeof replies) => replies[reason].status;
  expect([statusOf('invalid-signature'), statusOf('store-unavailable'), statusOf('handler-error')]).toEqual([
    401, 503, 500,
  ]);
});
