import {
  generateSecret,
  newNotificationId,
  parseSigningKey,
  parseVerifyingKey,
  signNotification,
  verifyNotification,
} from '@bestnotify/protocol';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { nowSeconds, payment } from './signed-request.mjs';

const peers = { standardwebhooks: StandardWebhook, svix: SvixWebhook };
const [oldSecret, newSecret, foreignSecret] = [24, 32, 64].map((sizeBytes) => generateSecret(sizeBytes));
const bodies = [
  '{}',
  '{"n":"支付😊"}',
  '{"a": 1.0, "10": 1}\r\n',
  '"text"',
  payment('merchant-42', 'PAY1').toString('utf8'),
];

/** The public libraries for the same scheme: they verify ours, we verify theirs. */
export async function checkLibraries(score) {
  for (const [name, Webhook] of Object.entries(peers)) {
    const theyVerify = score.row(`npm ${name}`, 'we sign, they verify');
    const weVerify = score.row(`npm ${name}`, 'they sign, we verify');
    for (const text of bodies) {
      for (const key of [oldSecret, oldSecret.slice('whsec_'.length)]) {
        const form = `${key === oldSecret ? 'with' : 'without'} prefix, ${text.length} characters`;
        const peer = new Webhook(key);
        await theyVerify.check(form, () => peerAccepts(peer, text, [oldSecret]));
        await theyVerify.check(`${form}, changed`, () => peerAccepts(peer, text, [oldSecret], `${text} `), false);
        await weVerify.check(form, () => keyThatMatches(peer, text, [oldSecret]), 0);
        await weVerify.check(`${form}, changed`, () => keyThatMatches(peer, text, [oldSecret], `${text} `), null);
      }
    }
    await checkRotation({ theyVerify, weVerify, Webhook });
  }
}

async function checkRotation({ theyVerify, weVerify, Webhook }) {
  const [text] = bodies;
  for (const [holder, key] of Object.entries({ old: oldSecret, new: newSecret })) {
    await theyVerify.check(`two signatures, they hold the ${holder} key`, () =>
      peerAccepts(new Webhook(key), text, [oldSecret, newSecret]),
    );
  }
  const ten = [...Array.from({ length: 9 }, () => foreignSecret), newSecret];
  await theyVerify.check('the last of ten signatures', () => peerAccepts(new Webhook(newSecret), text, ten));
  await theyVerify.check(
    'after the old key’s end',
    () => peerAccepts(new Webhook(oldSecret), text, [newSecret]),
    false,
  );

  await weVerify.check(
    'we hold both keys',
    () => keyThatMatches(new Webhook(newSecret), text, [oldSecret, newSecret]),
    1,
  );
  await weVerify.check(
    'a key we do not hold',
    () => keyThatMatches(new Webhook(foreignSecret), text, [oldSecret, newSecret]),
    null,
  );
  const both = (id, now) =>
    `${new Webhook(oldSecret).sign(id, now, text)} ${new Webhook(newSecret).sign(id, now, text)}`;
  await weVerify.check(
    'two signatures, we hold the new key',
    () => keyThatMatches({ sign: both }, text, [newSecret]),
    0,
  );
}

function peerAccepts(peer, text, secrets, delivered = text) {
  const body = Buffer.from(text);
  const [id, timestampSeconds] = [newNotificationId(Date.now()), nowSeconds()];
  const signature = signNotification({ id, timestampSeconds, body, keys: secrets.map(parseSigningKey) });
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestampSeconds), 'webhook-signature': signature };
  try {
    peer.verify(Buffer.from(delivered), headers);
    return true;
  } catch (error) {
    if (error.constructor.name === 'WebhookVerificationError') return false;
    throw error;
  }
}

function keyThatMatches(peer, text, secrets, delivered = text) {
  const now = new Date();
  const id = newNotificationId(now.getTime());
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': peer.sign(id, now, text),
  };
  try {
    return verifyNotification({ headers, body: Buffer.from(delivered), keys: secrets.map(parseVerifyingKey) }).keyIndex;
  } catch (error) {
    if (error.reason === 'no-match') return null;
    throw error;
  }
}
