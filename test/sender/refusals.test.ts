import { isSenderError, NotificationRefusedError } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { callers } from './callers.ts';
import { freshOutbox, paid } from './fresh-outbox.ts';

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;
const input = { endpoint: 'merchant-42', ...paid };
const maxBodyBytes = 256 * 1024;

/** What is wrong, the input, and the code of the error or the member it names. */
const refused: readonly (readonly [what: string, given: object, named: string])[] = [
  ['cyclic data', { data: cyclic }, 'data'],
  ['data left out', { data: undefined }, 'data'],
  ['undefined inside an array', { data: [undefined] }, 'data'],
  ['a BigInt', { data: { amount: 100n } }, 'data'],
  ['a function', { data: { amount: () => 1 } }, 'data'],
  ['NaN', { data: { amount: Number.NaN } }, 'data'],
  ['a body over 256 KiB', { data: 'x'.repeat(maxBodyBytes) }, 'SENDER_BODY_TOO_LARGE'],
  [
    'a raw body over 256 KiB',
    { data: undefined, raw: { bytes: Buffer.alloc(maxBodyBytes + 1) } },
    'SENDER_BODY_TOO_LARGE',
  ],
  ['an empty type', { type: '' }, 'type'],
  ['a type with a line break', { type: 'payment\nsuccess' }, 'type'],
  ['a type of 65 characters', { type: 'x'.repeat(65) }, 'type'],
  ['a type that begins with a dot', { type: '.payment' }, 'type'],
  ['an empty business id', { bizId: '' }, 'bizId'],
  ['a business id with a space', { bizId: 'PAY 1' }, 'bizId'],
  ['a business id of 129 characters', { bizId: 'x'.repeat(129) }, 'bizId'],
  ['a business id of 3000 characters (R077)', { bizId: 'x'.repeat(3000) }, 'bizId'],
  ['a business id in another script', { bizId: '订单1' }, 'bizId'],
  ['a business id with NUL', { bizId: 'PAY\0' }, 'bizId'],
  ['a business id that is a number', { bizId: 1 }, 'bizId'],
  ['an empty subject', { subject: '' }, 'subject'],
  ['a negative sequence', { sequence: -1 }, 'sequence'],
  ['a broken sequence', { sequence: 1.5 }, 'sequence'],
  ['a sequence of 2^53', { sequence: 2 ** 53 }, 'sequence'],
  ['a moment without an offset', { occurredAt: '2026-01-01T00:00:00' }, 'occurredAt'],
  ['an invalid date', { occurredAt: new Date(Number.NaN) }, 'occurredAt'],
  ['no endpoint at all', { endpoint: undefined }, 'endpoint'],
  ['both endpoint and to', { to: 'merchant-42' }, 'endpoint'],
  ['to without a url', { endpoint: undefined, to: 'merchant-42', secret: 'whsec_x' }, 'to'],
  ['to without a secret', { endpoint: undefined, to: 'merchant-42', url: 'https://example.com/' }, 'to'],
  ['zero attempts', { maxAttempts: 0 }, 'maxAttempts'],
  ['attempts that are not whole', { maxAttempts: 2.5 }, 'maxAttempts'],
  ['an unknown policy', { policy: 'fastest' }, 'SENDER_CONFIGURATION'],
  ['a URL that cannot be called', { url: 'ftp://example.com/' }, 'SENDER_ENDPOINT_URL'],
  ['data beside a raw body', { raw: { bytes: Buffer.from('x') } }, 'raw'],
  ['a raw body that is text', { data: undefined, raw: { bytes: 'text' } }, 'raw.bytes'],
  [
    'a content type with a line break',
    { data: undefined, raw: { bytes: Buffer.from('x'), contentType: 'a\r\nb: c' } },
    'raw.contentType',
  ],
  ['an endpoint that does not exist', { endpoint: 'nobody' }, 'SENDER_UNKNOWN_ENDPOINT'],
];

describe.each(callers)('input that cannot be sent, through $name', ({ open, begin }) => {
  test("is refused with a typed error, and the caller's transaction goes on and commits", async () => {
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });

    const seen: [string, string][] = [];
    const { id } = await begin(async (tx) => {
      for (const [what, given] of refused) {
        const error: unknown = await outbox.sender.notify({ ...input, ...given }, { tx }).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        const name =
          error instanceof NotificationRefusedError
            ? error.member
            : isSenderError(error)
              ? codeOf(error)
              : String(error);
        seen.push([what, name]);
      }
      return outbox.sender.notify(input, { tx });
    });

    expect(seen).toEqual(refused.map(([what, , named]) => [what, named]));
    expect((await outbox.sender.operations.list()).items.map((item) => item.id)).toEqual([id]);
  });
});

describe('both sides of each limit', () => {
  test('a body of exactly 256 KiB, ids of 128 characters and the largest sequence are accepted', async () => {
    const { open } = callers[0] ?? expect.fail();
    await using outbox = await freshOutbox(open);
    await outbox.putEndpoint({ id: 'merchant-42' });

    const accepted = [
      { ...input, data: undefined, raw: { bytes: Buffer.alloc(maxBodyBytes) } },
      { ...input, type: 'x'.repeat(64), bizId: '~'.repeat(128), subject: '!'.repeat(128), sequence: 2 ** 53 - 1 },
      { ...input, type: 'a', bizId: '0', sequence: 0, occurredAt: '2026-01-01T00:00:00+08:00', maxAttempts: 1000 },
    ];

    const results = await outbox.sender.notifyMany(accepted);
    expect(results.map((result) => result.created)).toEqual([true, true, true]);
  });
});

function codeOf(error: object): string {
  return 'code' in error ? String(error.code) : 'no code';
}
