import { encodeEnvelope } from '@bestnotify/protocol';
import { nowSeconds, payment, source } from './signed-request.mjs';

const [handled, duplicate] = ['200 success handled', '200 success duplicate'];
const [invalid, stale, stranger] = ['invalid-signature', 'stale-timestamp', 'wrong-audience'].map(
  (it) => `401 fail ${it}`,
);
const [malformed, conflict] = ['400 fail malformed', '422 fail payload-conflict'];
const tooLarge = '413 fail too-large';

/** The business ids whose handler must run, in this order, each once. */
export const handledIds = ['PAY1', 'PAY2', 'PAY/4"', 'PAY5'];

/** One request after the other, and the answer to each: [name, request, answer]. Signed now with the old key, unless said otherwise. */
export function requestsFor(to, { oldKey, newKey, foreignKey }) {
  const body = payment(to, 'PAY1');
  return [
    ['a tampered body', { body: payment(to, 'PAY1', { amount: '900.00' }), signed: body }, invalid],
    ['a stale timestamp', { body, timestampSeconds: nowSeconds() - 310 }, stale],
    ['a future timestamp', { body, timestampSeconds: nowSeconds() + 310 }, stale],
    ['success', { body, timestampSeconds: nowSeconds() - 290 }, handled],
    ['a duplicate', { body }, duplicate],
    ['another payload under the same business id', { body: payment(to, 'PAY1', { more: 1 }) }, conflict],
    ['rotation: one of two signatures', { body, secrets: [foreignKey, newKey] }, duplicate],
    ['rotation: both keys are held', { body, secrets: [oldKey, newKey] }, duplicate],
    ['rotation: the new key alone', { body: payment(to, 'PAY2'), secrets: [newKey] }, handled],
    ['rotation: a key that is not held', { body, secrets: [foreignKey] }, invalid],
    ['no signature', { body, replace: { 'webhook-signature': undefined } }, invalid],
    ['an empty signature', { body, replace: { 'webhook-signature': '' } }, invalid],
    ['nonsense for a signature', { body, replace: { 'webhook-signature': 'abc v1, v1,=' } }, invalid],
    ['no id', { body, replace: { 'webhook-id': undefined } }, invalid],
    ['no timestamp', { body, replace: { 'webhook-timestamp': undefined } }, invalid],
    ['a timestamp in milliseconds', { body, replace: { 'webhook-timestamp': `${nowSeconds()}000` } }, invalid],
    ['made for another merchant', { body: payment('merchant-7', 'PAY1') }, stranger],
    ['made by another source', { body: madeBy(`${source}-test`, to) }, stranger],
    ...notEnvelopes(to).map((bytes, at) => [`verified, but no envelope (${at})`, { body: bytes }, malformed]),
    ['another order of members, escapes, unknown members', { body: Buffer.from(reordered(to)) }, handled],
    ['200 kB', { body: payment(to, 'PAY5', { long: '"\\支'.repeat(30_000) }) }, handled],
    ['over 256 KiB', { body: payment(to, 'PAY6', { long: 'a'.repeat(256 * 1024) }) }, tooLarge],
    ['GET', { method: 'GET', body }, '405 fail method-not-allowed'],
  ];
}

function madeBy(otherSource, to) {
  return encodeEnvelope({ source: otherSource, to, type: 'payment.success', bizId: 'PAY1', data: {} });
}

function notEnvelopes(to) {
  const texts = ['not JSON', '[]', '{}', '', '"success"', `{"source":"${source}","to":"${to}","type":"t"}`];
  const invalidUtf8 = payment(to, 'PAY3').toString('latin1').replace('100', '\xff');
  return [...texts.map((text) => Buffer.from(text)), Buffer.from(invalidUtf8, 'latin1')];
}

function reordered(to) {
  const data = String.raw`{"to":"merchant-7","u":"https:\/\/a.b\/c","n":"\u652f\u4ed8","x":[{"bizId":"X"}]}`;
  return String.raw`{"data":${data},"source":"${source}","to":"${to}","type":"payment.success","bizId":"PAY\/4\"","later":true}`;
}
