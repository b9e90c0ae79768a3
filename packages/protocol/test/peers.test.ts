import { parseSigningKey, parseVerifyingKey, signNotification, verifyNotification } from '@bestnotify/protocol';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { expect, test } from 'vitest';
import { id, otherSecret, secret } from './fixtures/signed.js';

const bodies = ['{"amount":"100.00"}', '', '{"n":"支付😊"}', 'a=1&b=%E2%93', '{"a": 1.0}\r\n'];
const now = new Date(); // these libraries read the machine's clock
const timestampSeconds = Math.floor(now.getTime() / 1000);

const headersWith = (signature: string) => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestampSeconds),
  'webhook-signature': signature,
});

/** They parse JSON after the check; these bodies are not all JSON, and only the check matters here. */
function accepts(
  peer: { verify(payload: Buffer, headers: Record<string, string>): unknown },
  body: Buffer,
  signature: string,
): boolean {
  try {
    peer.verify(body, headersWith(signature));
    return true;
  } catch (error) {
    return error instanceof SyntaxError;
  }
}

test.each([
  ['standardwebhooks', (key: string) => new StandardWebhook(key)],
  ['svix', (key: string) => new SvixWebhook(key)],
] as const)('%s verifies what we sign, and we verify what it signs', (_name, open) => {
  for (const text of bodies) {
    const body = Buffer.from(text);
    for (const peer of [open(secret), open(secret.slice('whsec_'.length))]) {
      const ours = signNotification({
        id,
        timestampSeconds,
        body,
        keys: [parseSigningKey(otherSecret), parseSigningKey(secret)],
      });
      expect(accepts(peer, body, ours)).toBe(true);
      expect(accepts(peer, Buffer.concat([body, Buffer.from(' ')]), ours)).toBe(false);

      const theirs = headersWith(peer.sign(id, now, text));
      const keys = [parseVerifyingKey(otherSecret), parseVerifyingKey(secret)];
      expect(verifyNotification({ headers: theirs, body, keys, now })).toMatchObject({ keyIndex: 1, version: 'v1' });
    }
  }
});
