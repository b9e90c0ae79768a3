// npm run bench -- sign [--rounds n] [--ms n] [--quick]
// What signing and verifying one notification of 1 KiB costs, next to npm's standardwebhooks and svix, on one core.
import {
  generateKeyPair,
  generateSecret,
  newNotificationId,
  parseSigningKey,
  parseVerifyingKey,
  signNotification,
  verifyNotification,
} from '@bestnotify/protocol';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { readArguments } from './harness/arguments.mjs';
import { printConditions } from './harness/conditions.mjs';
import { interleave, median, medianRatio } from './harness/rounds.mjs';

const { rounds, ms } = readArguments({ rounds: 9, ms: 400 }, { rounds: 3, ms: 100 });
const bodyBytes = 1024;

const secret = generateSecret();
const { privateKey, publicKey } = generateKeyPair();
const empty = JSON.stringify({ data: '' });
const text = JSON.stringify({ data: 'x'.repeat(bodyBytes - empty.length) });
const body = Buffer.from(text);
const id = newNotificationId(Date.now());
const now = new Date();
const timestampSeconds = Math.floor(now.getTime() / 1000);

const signWith = (key) => () => signNotification({ id, timestampSeconds, body, keys: [key] });
const signers = {
  bestnotify: signWith(parseSigningKey(secret)),
  'bestnotify v1a': signWith(parseSigningKey(privateKey)),
  standardwebhooks: bind(new StandardWebhook(secret), (peer) => peer.sign(id, now, text)),
  svix: bind(new SvixWebhook(secret), (peer) => peer.sign(id, now, text)),
};

/** Their `verify` always parses the JSON as well, so ours is measured with it. */
const verifyWith = (key, headers) => () => {
  verifyNotification({ headers, body, keys: [key] });
  return JSON.parse(body.toString());
};
const v1Headers = headersOf(signers.bestnotify());
const verifiers = {
  bestnotify: verifyWith(parseVerifyingKey(secret), v1Headers),
  'bestnotify v1a': verifyWith(parseVerifyingKey(publicKey), headersOf(signers['bestnotify v1a']())),
  standardwebhooks: bind(new StandardWebhook(secret), (peer) => peer.verify(body, v1Headers)),
  svix: bind(new SvixWebhook(secret), (peer) => peer.verify(body, v1Headers)),
};

await printConditions();
console.log(`signing ${bodyBytes} bytes`);
const signed = await interleave(perSecond(signers), { rounds });
console.log(`verifying ${bodyBytes} bytes, and parsing them`);
const verified = await interleave(perSecond(verifiers), { rounds });

console.log(
  JSON.stringify({
    bench: 'sign',
    bodyBytes,
    signPerSecond: Math.round(median(signed.bestnotify)),
    verifyPerSecond: Math.round(median(verified.bestnotify)),
    signRatio: medianRatio(signed.bestnotify, signed.standardwebhooks),
    verifyRatio: medianRatio(verified.bestnotify, verified.standardwebhooks),
    signRatioSvix: medianRatio(signed.bestnotify, signed.svix),
    verifyRatioSvix: medianRatio(verified.bestnotify, verified.svix),
    signPerSecondV1a: Math.round(median(signed['bestnotify v1a'])),
    verifyPerSecondV1a: Math.round(median(verified['bestnotify v1a'])),
  }),
);

function bind(peer, call) {
  return () => call(peer);
}

/** The headers that a receiver of an Express app has, ours among them. */
function headersOf(signature) {
  return {
    host: 'merchant.example',
    'user-agent': 'bestnotify',
    'content-type': 'application/json',
    'content-length': String(bodyBytes),
    'accept-encoding': 'identity',
    connection: 'keep-alive',
    'x-event-type': 'payment.success',
    'bestnotify-attempt': '1',
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signature,
  };
}

function perSecond(calls) {
  const measure = (call) => () => {
    const batch = 50;
    const start = performance.now();
    for (let count = batch; ; count += batch) {
      for (let each = 0; each < batch; each++) call();
      const elapsedMs = performance.now() - start;
      if (elapsedMs >= ms) return (count / elapsedMs) * 1000;
    }
  };
  return Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, measure(call)]));
}
