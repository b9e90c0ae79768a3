import { parseSigningKey, signNotification } from '@bestnotify/protocol';
import { Pool } from 'undici';

/** The POST that every peer makes: signed by the merchant's key, over pooled connections, within a deadline. */
export function signedPosts({ url, secrets, concurrency }) {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: concurrency, headersTimeout: 10_000, bodyTimeout: 10_000 });
  const keys = secrets.map((secret) => [parseSigningKey(secret)]);
  return {
    /** @returns the reply's status and text. */
    async post({ id, endpoint, body }) {
      const timestampSeconds = Math.floor(Date.now() / 1_000);
      const response = await pool.request({
        method: 'POST',
        path: pathname,
        headers: {
          'content-type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(timestampSeconds),
          'webhook-signature': signNotification({ id, timestampSeconds, body, keys: keys[endpoint % keys.length] }),
          'x-event-type': 'payment.success',
        },
        body,
      });
      return { status: response.statusCode, text: await response.body.text() };
    },
    close: () => pool.close(),
  };
}
