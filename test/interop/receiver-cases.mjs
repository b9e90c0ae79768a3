import path from 'node:path';
import { generateSecret } from '@bestnotify/protocol';
import { handledIds, requestsFor } from './receiver-requests.mjs';
import { payment, post, signedHeaders } from './signed-request.mjs';
import { startReceiver } from './start-receiver.mjs';

const copiedIds = Array.from({ length: 12 }, (_, at) => `COPIED${at}`);
const [oldKey, newKey, foreignKey] = [24, 32, 64].map((sizeBytes) => generateSecret(sizeBytes));

/** What every receiver must answer, whatever it is written in. */
export async function checkReceiver(row, { name, runtime, scratchDir, alsoCheck }) {
  const to = `merchant-${name}`;
  const facts = { to, secrets: [oldKey, newKey], directory: path.join(scratchDir, name) };
  const effects = await whileRunning(runtime, facts, async (urls) => {
    for (const [what, request, answer] of requestsFor(to, { oldKey, newKey, foreignKey })) {
      await row.check(what, () => send(urls[0], request), answer);
    }
    await checkCopies(row, { urls, bodies: copiedIds.map((bizId) => payment(to, bizId)) });
    const release = await runtime.holdLocks?.(facts.directory);
    if (release) {
      const copy = () => send(urls[0], { body: payment(to, 'PAY1') });
      await row.check('a copy while another process handles it', copy, '409 fail in-progress');
      await release();
    }
    await alsoCheck({ url: urls[0], to, secrets: [foreignKey, newKey] });
  });
  const lines = [...handledIds, ...copiedIds].map((bizId) => `effect payment.success ${bizId}`);
  await row.check(
    'every effect happened once',
    () => effects.toSorted(),
    [...lines, 'effect refund.success REFUND1'].toSorted(),
  );

  const effectsOfSecondRun = await whileRunning(runtime, facts, async ([url]) => {
    const request = { body: payment(to, 'PAY1'), secrets: [newKey] };
    await row.check('a duplicate after a restart', () => send(url, request), '200 success duplicate');
  });
  await row.check('no effect after a restart', () => effectsOfSecondRun, []);
}

/** @returns the lines that the handlers wrote, all of them: the processes have ended. */
async function whileRunning(runtime, facts, use) {
  const receiver = await startReceiver(runtime, facts);
  try {
    await use(receiver.urls);
  } finally {
    await receiver.stop();
  }
  return receiver.effects();
}

function send(url, { method, body, signed = body, secrets = [oldKey], replace = {}, timestampSeconds }) {
  const headers = { ...signedHeaders(signed, { secrets, timestampSeconds }), ...replace };
  const given = Object.entries(headers).filter(([, value]) => value !== undefined);
  return post(url, body, Object.fromEntries(given), method);
}

/** Each body in four copies at once, over all the processes that there are. */
async function checkCopies(row, { urls, bodies }) {
  const copies = bodies.flatMap((body) => [0, 1, 2, 3].map((at) => send(urls[at % urls.length], { body })));
  const answers = await Promise.all(copies);
  const handled = () => answers.filter((answer) => answer === '200 success handled').length;
  await row.check('four copies at once: one is handled', handled, bodies.length);
  const others = ['200 success handled', '200 success duplicate', '409 fail in-progress'];
  await row.check('four copies at once: no other answer', () => answers.filter((it) => !others.includes(it)), []);
}
