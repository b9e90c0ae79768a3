import { errorFacts } from '@bestnotify/protocol';
import { expect, test } from 'vitest';

test('an error is told by its type, code, first line, frames and cause', () => {
  const cause = Object.assign(new Error('connection refused'), { code: 'ECONNREFUSED' });
  const facts = errorFacts(new TypeError('it failed', { cause }));
  expect(facts).toMatchObject({
    type: 'TypeError',
    message: 'it failed',
    cause: { type: 'Error', code: 'ECONNREFUSED', message: 'connection refused' },
  });
  expect(facts.stack).toMatch(/^\s+at .*logger\.test\.ts/);
});

test('the parameters of a statement are not told, wherever a database layer keeps them', () => {
  const error = Object.assign(new Error('Failed query: insert into t values ($1)\nparams: {"card":"4111"}'), {
    params: ['{"card":"4111"}'],
    query: 'insert …',
  });
  expect(JSON.stringify(errorFacts(error))).not.toContain('4111');
});

test('what looks like a secret or the query of a URL is not told, and a long line is cut', () => {
  const { message } = errorFacts(
    new Error(`whsec_${'A'.repeat(44)} at https://a.example/x?token=1 ${'y'.repeat(900)}`),
  );
  expect(message).not.toMatch(/AAAA|token=1/);
  expect(message.length).toBeLessThanOrEqual(500);
});

test('anything can be thrown, and a ring of causes ends', () => {
  expect(errorFacts('no error\nat all')).toEqual({ type: 'string', message: 'no error' });
  const ring = new Error('ring');
  ring.cause = ring;
  expect(JSON.stringify(errorFacts(ring)).match(/ring/g)?.length).toBeLessThan(30);
});
