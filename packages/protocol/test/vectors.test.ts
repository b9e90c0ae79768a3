import {
  headerNames,
  parseSigningKey,
  payloadDigest,
  signBody,
  signNotification,
  verifyBody,
} from '@bestnotify/protocol';
import { describe, expect, test } from 'vitest';
import { refusal, vectors, verify } from './fixtures/signed.js';

interface Row {
  name: string;
  bodyHex: string;
  signature: string;
}

const wire = vectors('wire-v1.json') as {
  secret: string;
  id: string;
  timestamp: string;
  rows: Row[];
  mustFail: { why: string; signature: string }[];
};
const openssl = vectors('openssl.json') as {
  secret: string;
  plainSecret: string;
  id: string;
  timestamp: string;
  rows: (Row & { bodySignature: string })[];
};
const published = vectors('standard-webhooks.json') as {
  vectors: {
    scheme: string;
    secret: string;
    publicKey?: string;
    id: string;
    timestamp: number;
    body: string;
    signature: string;
  }[];
  invalidForFirst: string[];
};

const bytesOf = (row: Row) => Buffer.from(row.bodyHex, 'hex');

function headersOf(file: { id: string; timestamp: string | number }, signature: string) {
  return {
    [headerNames.id]: file.id,
    [headerNames.timestamp]: String(file.timestamp),
    [headerNames.signature]: signature,
  };
}

const at = (file: { timestamp: string | number }) => new Date(Number(file.timestamp) * 1000);

describe.each([
  ['wire-v1.json', wire],
  ['openssl.json', openssl],
])('the known answers of %s', (_file, file) => {
  const facts = { secrets: [file.secret], now: at(file) };

  test.each(file.rows)('$name: its own signature verifies and no other row’s does', (row) => {
    const accepted = file.rows.filter(
      (other) => refusal(headersOf(file, other.signature), bytesOf(row), facts) === undefined,
    );
    expect(accepted.map((other) => other.name)).toEqual([row.name]);
  });

  test.each(file.rows)('$name: we write the same signature', (row) => {
    const keys = [parseSigningKey(file.secret)];
    const input = { id: file.id, timestampSeconds: Number(file.timestamp), body: bytesOf(row), keys };
    expect(signNotification(input)).toBe(row.signature);
  });

  test('every body has a payload digest of its own', () => {
    expect(new Set(file.rows.map((row) => payloadDigest(bytesOf(row)))).size).toBe(file.rows.length);
  });
});

test.each(wire.mustFail)('a signature is refused when its $why', ({ signature }) => {
  const body = Buffer.from('{"test": 2432232314}');
  expect(refusal(headersOf(wire, signature), body, { secrets: [wire.secret], now: at(wire) })).toMatch(
    /^(malformed|no-match)$/,
  );
});

test.each(published.vectors)('the published $scheme answer $signature holds in both directions', (vector) => {
  const body = Buffer.from(vector.body);
  const keys = [parseSigningKey(vector.secret)];
  const facts = { secrets: [vector.publicKey ?? vector.secret], now: at(vector) };

  expect(signNotification({ id: vector.id, timestampSeconds: vector.timestamp, body, keys })).toBe(vector.signature);
  expect(verify(headersOf(vector, vector.signature), body, facts)).toMatchObject({
    version: vector.scheme,
    keyIndex: 0,
  });
});

test('the published wrong signature is refused', () => {
  const [first] = published.vectors;
  for (const signature of published.invalidForFirst) {
    const facts = { secrets: [first!.secret], now: at(first!) };
    expect(refusal(headersOf(first!, signature), Buffer.from(first!.body), facts)).toBe('no-match');
  }
});

test.each(openssl.rows)('R004 profile body-hmac agrees with openssl: $name', (row) => {
  const headers = { [headerNames.bodySignature]: row.bodySignature };
  expect(signBody(bytesOf(row), openssl.plainSecret)).toBe(row.bodySignature);
  expect(verifyBody({ headers, body: bytesOf(row), secrets: ['another plain secret', openssl.plainSecret] })).toEqual({
    keyIndex: 1,
  });
});
