import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDeliverer } from '../../packages/sender/src/worker/deliver.js';
import { describeAttempt } from '../../packages/sender/src/worker/describe-attempt.js';
import { judgeResponse } from '../../packages/sender/src/worker/judge-response.js';
import type { Outcome } from '../../packages/sender/src/worker/outcome.js';
import { awaitUntil } from '../fixtures/await-until.js';
import { poisonReplies } from './poison-replies.js';
import { refusals } from './refusals.js';
import { startTorture, type Behaviour, type TortureServer } from './torture-server.js';
import { wellMeantReplies } from './well-meant-replies.js';

const requestTimeoutMs = 1500;
const behaviours = [...wellMeantReplies, ...refusals, ...poisonReplies];
const deliverer = createDeliverer({ requestTimeoutMs, connectTimeoutMs: 1400, allowPrivateNetwork: ['127.0.0.0/8'] });
const results = new Map<Behaviour, { server: TortureServer; outcome: Outcome }>();

function request(server: TortureServer, bodyBytes = 100) {
  return {
    url: `http://127.0.0.1:${server.port}/notify?token=s3cret`,
    headers: { 'content-type': 'application/json' },
    body: Buffer.alloc(bodyBytes, 'x'),
    allowHttp: true,
    allowPrivateNetwork: ['127.0.0.1/32'],
    tls: undefined,
  };
}

beforeAll(async () => {
  const meet = async (behaviour: Behaviour) => {
    const server = await startTorture(behaviour);
    results.set(behaviour, { server, outcome: await deliverer.deliver(request(server, behaviour.bodyBytes)) });
  };
  // One after the other where time matters; those that wait for the deadline wait together.
  for (const behaviour of behaviours.filter(({ isSlow }) => isSlow !== true)) await meet(behaviour);
  await Promise.all(behaviours.filter(({ isSlow }) => isSlow === true).map(meet));
});

afterAll(async () => {
  await deliverer.close();
  await Promise.all([...results.values()].map(({ server }) => server.close()));
});

test('there are at least 40 behaviours, each with its own name', () => {
  expect(new Set(behaviours.map(({ name }) => name)).size).toBe(behaviours.length);
  expect(behaviours.length).toBeGreaterThanOrEqual(40);
});

describe.each(behaviours.map((behaviour) => ({ behaviour, name: behaviour.name })))('$name', ({ behaviour }) => {
  test(`is judged ${String(behaviour.verdict)}`, () => {
    const { outcome } = results.get(behaviour)!;
    const judgement = judge(behaviour, outcome);
    const reason = judgement.kind === 'delivered' ? judgement.reason : judgement.because;
    const { verdict, hint = /(?:)/, error = /(?:)/ } = behaviour;
    if (verdict instanceof RegExp) expect(`${judgement.kind}:${reason}`).toMatch(verdict);
    else expect(`${judgement.kind}:${reason}`, JSON.stringify(outcome)).toBe(verdict);
    expect('hint' in judgement ? judgement.hint : '').toMatch(hint);
    expect('error' in outcome ? outcome.error : '').toMatch(error);
    if (behaviour.counts !== undefined) expect(judgement.countsForBreaker).toBe(behaviour.counts);
    if (judgement.kind === 'retry') {
      expect(judgement.notBeforeMs).toBe(behaviour.notBeforeMs);
      expect(judgement.endpointNotBeforeMs).toBe(behaviour.endpointNotBeforeMs);
      expect(judgement.alert).toBe(behaviour.alert);
    }
  });

  test('ends within the deadline, after exactly one request', () => {
    const { outcome, server } = results.get(behaviour)!;
    expect(outcome.durationMs).toBeLessThan(requestTimeoutMs + 3000); // a machine may be busy, and none hangs
    if (behaviour.isSlow === true) expect(outcome.durationMs).toBeGreaterThan(requestTimeoutMs - 50);
    if (behaviour.when !== 'connected') expect(server.requests).toBe(1);
  });

  test('leaves a log entry without secrets that every column can hold', () => {
    const { outcome } = results.get(behaviour)!;
    const facts = describeAttempt(outcome, judge(behaviour, outcome), { url: `https://h.test/p?token=s3cret` });
    expect(JSON.stringify(facts)).not.toMatch(/s3cret|u:p@|\0|\\u0000/);
    const snippet = facts.snippetHex ?? '';
    expect(Buffer.from(snippet, 'hex').toString('latin1')).not.toMatch(/s3cret|v1,A|whsec_B/);
    expect(snippet.length).toBeLessThanOrEqual(2048);
    if (behaviour.snippet !== undefined) expect(snippet).toMatch(behaviour.snippet);
  });
});

test('R110 no socket is left once everything has ended', async () => {
  await deliverer.close();
  const servers = [...results.values()].map(({ server }) => server);
  for (const server of servers) server.readRest();
  await awaitUntil('every connection is closed', () => servers.every(({ openSockets }) => openSockets === 0));
});

function judge(behaviour: Behaviour, outcome: Outcome) {
  return judgeResponse(outcome, { ack: behaviour.ack ?? 'success', isOwnUrl: false, now: new Date(0) });
}
