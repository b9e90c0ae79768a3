import { readFileSync } from 'node:fs';
import {
  parseSigningKey,
  parseVerifyingKey,
  signBody,
  signNotification,
  verifyBody,
  verifyNotification,
} from '@bestnotify/protocol';

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8'));

/** Every known answer, in both directions. */
export async function checkVectors(score) {
  const published = read('standard-webhooks.json');
  for (const vector of published.vectors) {
    const facts = { ...vector, body: Buffer.from(vector.body), verifyWith: vector.publicKey ?? vector.secret };
    const row = score.row('standard-webhooks.json', `${vector.scheme}, both directions`);
    await row.check('we sign alike', () => sign(facts), vector.signature);
    await row.check('we verify it', () => accepts(facts, vector.signature));
    for (const wrong of vector === published.vectors[0] ? published.invalidForFirst : []) {
      await row.check('a wrong one is refused', () => accepts(facts, wrong), false);
    }
  }
  for (const name of ['wire-v1.json', 'openssl.json']) await checkFile(score, name, read(name));
}

async function checkFile(score, name, file) {
  const factsOf = (row) => ({ ...file, body: Buffer.from(row.bodyHex, 'hex'), verifyWith: file.secret });
  const theirs = score.row(name, 'their signatures, our verify');
  const ours = score.row(name, 'our signatures');
  for (const row of file.rows) {
    const matching = () =>
      file.rows.filter((other) => accepts(factsOf(row), other.signature)).map((other) => other.name);
    await theirs.check(row.name, matching, [row.name]);
    await ours.check(row.name, () => sign(factsOf(row)), row.signature);
    if (!row.bodySignature) continue;
    const { body } = factsOf(row);
    const headers = { 'x-signature': row.bodySignature };
    await theirs.check(
      `${row.name}, body-hmac`,
      () => verifyBody({ headers, body, secrets: [file.plainSecret] }).keyIndex,
      0,
    );
    await ours.check(`${row.name}, body-hmac`, () => signBody(body, file.plainSecret), row.bodySignature);
  }
  const body = Buffer.from('{"test": 2432232314}');
  for (const { why, signature } of file.mustFail ?? []) {
    await theirs.check(why, () => accepts({ ...file, body, verifyWith: file.secret }, signature), false);
  }
}

function sign({ id, timestamp, body, secret }) {
  return signNotification({ id, timestampSeconds: Number(timestamp), body, keys: [parseSigningKey(secret)] });
}

function accepts({ id, timestamp, body, verifyWith }, signature) {
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature };
  try {
    verifyNotification({
      headers,
      body,
      keys: [parseVerifyingKey(verifyWith)],
      now: new Date(Number(timestamp) * 1000),
    });
    return true;
  } catch (error) {
    if (error.code === 'PROTOCOL_SIGNATURE') return false;
    throw error;
  }
}
