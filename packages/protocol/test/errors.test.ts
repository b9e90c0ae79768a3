import {
  BytesError,
  EnvelopeError,
  isProtocolError,
  ProtocolError,
  SecretError,
  SignatureError,
} from '@bestnotify/protocol';
import { expect, test } from 'vitest';

const errors = [
  new BytesError({ given: 'object' }),
  new EnvelopeError({ member: 'to', problem: 'is missing' }),
  new SecretError({ problem: 'is missing' }),
  new SignatureError({ reason: 'missing', header: 'webhook-id', problem: 'is missing' }),
];

test('every error has a code and a name of its own, and is known even to another copy of the package', () => {
  expect(errors.map((error) => [error.name, error.code])).toEqual([
    ['BytesError', 'PROTOCOL_BYTES'],
    ['EnvelopeError', 'PROTOCOL_ENVELOPE'],
    ['SecretError', 'PROTOCOL_SECRET'],
    ['SignatureError', 'PROTOCOL_SIGNATURE'],
  ]);
  for (const error of errors) {
    expect(error).toBeInstanceOf(ProtocolError);
    expect(isProtocolError(error)).toBe(true);
  }
  const fromAnotherCopy = { [Symbol.for('@bestnotify/protocol/error')]: true };
  expect(isProtocolError(fromAnotherCopy)).toBe(true);
  for (const stranger of [new Error('x'), null, undefined, 'PROTOCOL_BYTES', {}])
    expect(isProtocolError(stranger)).toBe(false);
});
