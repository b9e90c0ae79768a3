import { encodeEnvelope, newNotificationId, parseSigningKey, signNotification } from '@bestnotify/protocol';

export const source = 'acme-pay';
export const nowSeconds = () => Math.floor(Date.now() / 1000);

/** An envelope whose text is hard to keep byte for byte through a parser. */
export function payment(to, bizId, more = {}) {
  const data = { amount: '100.00', note: '支付成功 😊 \u001b[0m </b> \ud83d', rate: 1e-7, ...more };
  return encodeEnvelope({ source, to, type: 'payment.success', bizId, subject: 'ORDER7', sequence: 3, data });
}

/** The headers of one attempt, signed now with these secrets. */
export function signedHeaders(body, { secrets, id = newNotificationId(Date.now()), timestampSeconds = nowSeconds() }) {
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signNotification({ id, timestampSeconds, body, keys: secrets.map(parseSigningKey) }),
  };
}

/** Posts bytes and gives what matters of the reply as one line, such as `200 success handled`. */
export async function post(url, body, headers, method = 'POST') {
  const response = await fetch(url, {
    method,
    headers,
    body: method === 'GET' ? undefined : body,
    redirect: 'manual',
    signal: AbortSignal.timeout(15_000),
  });
  return `${response.status} ${await response.text()} ${response.headers.get('bestnotify-reason')}`;
}
