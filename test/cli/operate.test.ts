import { afterAll, beforeAll, expect, test } from 'vitest';
import { paid } from '../sender/fresh-outbox.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshCommandLine, parseLines, type CommandLine } from './command-line.ts';
import { anyNumber, anyText, containing, matching } from './matchers.ts';

let cli: CommandLine;
beforeAll(async () => {
  cli = await freshCommandLine();
});
afterAll(() => cli[Symbol.asyncDispose]());

const unknownId = 'ntf_019b7892-1c00-7fff-bfff-ffffffffffff';

test('an endpoint is made with a generated secret that is shown once and never again (R202)', async () => {
  await using merchant = await scriptedEndpoint(200);
  const [made] = await cli.lines([
    ...['endpoints', 'put', 'shown-once', '--url', merchant.url, '--generate-secret'],
    ...['--allow-http', '--private-network', '127.0.0.0/8'],
  ]);
  const secret = made?.['secret'] as string;
  expect(secret).toMatch(/^whsec_/);
  const [shown] = await cli.lines(['endpoints', 'show', 'shown-once']);
  expect(shown).toMatchObject({ id: 'shown-once', url: merchant.url, allowHttp: true });
  expect(shown?.['secrets']).toEqual([{ id: anyText, fingerprint: matching(/^[0-9a-f]{8}$/) }]);
  for (const args of [['endpoints', 'show', 'shown-once'], ['endpoints', 'list'], ['audit']]) {
    for (const json of [[], ['--json']])
      expect((await cli.run([...args, ...json])).stdout).not.toContain(secret.slice(6));
  }
});

test('changing one setting of an endpoint leaves the others, and its secret, as they were', async () => {
  await cli.outbox.putEndpoint({ id: 'kept', maxAttempts: 3, owner: 'group-1', traceparent: true });
  const [before] = await cli.lines(['endpoints', 'show', 'kept']);
  const [after] = await cli.lines(['endpoints', 'put', 'kept', '--policy', 'wechat'], {
    env: { BESTNOTIFY_SECRET: 'not-even-a-secret' },
  });
  expect(after).toEqual({ ...before, policy: 'wechat' });
});

test('what the library refuses is said in options of the command line', async () => {
  const put = ['endpoints', 'put', 'refused', '--url'];
  for (const [args, code, says] of [
    [[...put, 'http://shop.example/notify', '--generate-secret'], 'SENDER_ENDPOINT_URL', '(--allow-http)'],
    [[...put, 'https://shop.example/notify'], 'SENDER_CONFIGURATION', '--generate-secret makes one'],
    [['send', 'refused', '--type', 't', '--biz-id', 'B1'], 'SENDER_UNKNOWN_ENDPOINT', 'with bestnotify endpoints put,'],
    [['send', 'refused', '--type', 't', '--biz-id', 'B1'], 'SENDER_UNKNOWN_ENDPOINT', 'give --to, --url and a secret'],
  ] as const) {
    const { stderr } = await cli.run(args);
    expect(stderr).toContain(says);
    expect(stderr).toContain(`(${code})`);
  }
});

test('a secret comes from stdin, and one that is none is refused without being repeated', async () => {
  const [rotated] = await cli.lines(['endpoints', 'rotate-secret', 'kept', '--overlap-hours', '1']);
  expect(rotated).toEqual({ id: anyText, secret: matching(/^whsec_/) });
  const refused = await cli.run(['endpoints', 'rotate-secret', 'kept', '--secret-stdin'], { input: 'whsec_hunter2!!' });
  expect(refused.code).toBe(1);
  expect(refused.stderr).not.toContain('hunter2');
  expect(refused.stderr).toContain('PROTOCOL_SECRET');
});

test('what is sent, listed and shown has one shape for programs', async () => {
  await cli.outbox.putEndpoint({ id: 'shapes' });
  const args = ['send', 'shapes', '--type', 'payment.success', '--biz-id', 'SHAPE1', '--subject', 'ORDER7'];
  const [sent] = await cli.lines([...args, '--data', '{"amount":"100.00"}']);
  expect(sent).toEqual({ id: matching(/^ntf_/), created: true, state: 'pending' });
  const [again] = await cli.lines([...args, '--data-file', '-'], { input: '{"amount":"100.00"}' });
  expect(again).toEqual({ ...sent, created: false });
  const summary = {
    ...{ id: sent?.['id'], source: 'acme-pay', endpoint: 'shapes', type: 'payment.success', bizId: 'SHAPE1' },
    ...{ subject: 'ORDER7', state: 'pending', reason: null, isClaimed: false, round: 1, attempts: 0, lostClaims: 0 },
    ...{ dueAt: anyText, createdAt: anyText, settledAt: null },
  };
  expect(await cli.lines(['list', '--endpoint', 'shapes'])).toEqual([summary]);
  const details = {
    ...summary,
    ...{ url: null, policy: null, maxAttempts: null, contentType: anyText, hasOwnHeaders: false },
  };
  for (const wanted of [sent?.['id'] as string, 'SHAPE1', 'ORDER7']) {
    expect(await cli.lines(['show', wanted])).toEqual([
      { ...details, body: { text: containing('"bizId":"SHAPE1"') }, attemptLog: [] },
    ]);
  }
});

test('a conflicting body, a number that would lose digits and data that is no JSON are refused', async () => {
  const args = ['send', 'shapes', '--type', 'payment.success', '--biz-id'];
  const conflict = await cli.run([...args, 'SHAPE1', '--data', '{"amount":"1.00"}', '--json']);
  expect(parseLines(conflict.stderr)).toMatchObject([{ error: { code: 'SENDER_PAYLOAD_CONFLICT' } }]);
  const lossy = await cli.run([...args, 'LOSSY', '--data', '{"amount":12345678901234567890}', '--json']);
  expect(parseLines(lossy.stderr)).toMatchObject([{ error: { code: 'CLI_INPUT' } }]);
  const broken = await cli.run([...args, 'BROKEN', '--data', '{amount:1}', '--json']);
  expect(parseLines(broken.stderr)).toMatchObject([{ error: { code: 'CLI_INPUT' } }]);
  expect([conflict, lossy, broken].map(({ code, stdout }) => [code, stdout])).toEqual(Array(3).fill([1, '']));
});

test('a dry run of send shows the body and writes nothing (R208)', async () => {
  const args = ['send', 'shapes', '--type', 'payment.success', '--biz-id', 'DRY1', '--dry-run'];
  expect(await cli.lines(args)).toEqual([
    { dryRun: true, bodyBytes: anyNumber, body: { text: containing('"bizId":"DRY1"') } },
  ]);
  expect(await cli.lines(['list', '--biz-id', 'DRY1'])).toEqual([]);
});

test('a pending notification is hurried, cancelled, and then neither', async () => {
  const { id } = await cli.outbox.sender.notify({ ...paid, endpoint: 'shapes', bizId: 'CANCEL1' });
  expect(await cli.lines(['send-now', id])).toEqual([{ id, action: 'send-now' }]);
  expect(await cli.lines(['cancel', id, '--actor', 'wang', '--note', 'reversed'])).toEqual([{ id, action: 'cancel' }]);
  for (const verb of ['send-now', 'cancel']) {
    const refused = await cli.run([verb, id, '--json']);
    expect(refused.code).toBe(1);
    expect(parseLines(refused.stderr)).toMatchObject([{ error: { code: 'SENDER_ILLEGAL_STATE' } }]);
  }
  const [entry] = await cli.lines(['audit', '--notification', id, '--limit', '1']);
  expect(entry).toMatchObject({ actor: 'wang', action: 'cancel', note: 'reversed', notification: id });
});

test('close needs a note, resend a settled one, and an unknown id is said as such', async () => {
  const withoutNote = await cli.run(['close', unknownId]);
  expect(withoutNote.code).toBe(1);
  expect(withoutNote.stderr).toContain('--note');
  for (const args of [
    ['close', unknownId, '--note', 'x'],
    ['show', unknownId],
    ['resend', unknownId],
    ['erase', unknownId],
  ]) {
    const { code, stderr } = await cli.run([...args, '--json']);
    expect([code, parseLines(stderr)]).toMatchObject([1, [{ error: { code: 'SENDER_UNKNOWN_NOTIFICATION' } }]]);
  }
  for (const args of [
    ['resend', 'ORDER7'],
    ['cancel', 'ORDER7'],
    ['forward', 'ORDER7', '--to', 'http://127.0.0.1:1/'],
  ]) {
    const { code, stderr } = await cli.run(args);
    expect([code, stderr]).toEqual([1, containing(`and ${args[0]!} takes the id of one notification (ntf_…)`)]);
    expect(stderr).toContain('bestnotify show ORDER7 finds it');
  }
  const nothing = await cli.run(['show', 'NO-SUCH-ORDER']);
  expect([nothing.code, nothing.stdout]).toEqual([1, '']);
});

test('an endpoint is held, resumed, tested and removed', async () => {
  await cli.outbox.putEndpoint({ id: 'held' });
  expect(await cli.lines(['endpoints', 'hold', 'held', '--note', 'maintenance'])).toEqual([
    { id: 'held', action: 'hold' },
  ]);
  expect(await cli.lines(['endpoints', 'show', 'held'])).toMatchObject([{ heldBecause: 'maintenance' }]);
  expect(await cli.lines(['endpoints', 'resume', 'held'])).toEqual([{ id: 'held', action: 'resume' }]);
  expect(await cli.lines(['endpoints', 'test', 'held'])).toEqual([{ id: matching(/^ntf_/), endpoint: 'held' }]);
  expect((await cli.run(['endpoints', 'remove', 'held'])).code).toBe(1);
  expect(await cli.lines(['endpoints', 'remove', 'held', '--yes'])).toEqual([{ id: 'held', action: 'remove' }]);
  expect((await cli.run(['endpoints', 'show', 'held'])).code).toBe(1);
});

test('stats, prune and migrate say what they did', async () => {
  expect(await cli.lines(['stats'])).toEqual([
    {
      ...{ due: anyNumber, inFlight: 0, dead: 0, diedSince: 0, heldEndpoints: 0, parkedEndpoints: 0 },
      oldestDueMs: anyNumber,
    },
  ]);
  expect(await cli.lines(['prune'])).toEqual([{ notifications: 0, attempts: 0, keys: 0 }]);
  expect(await cli.lines(['migrate'])).toEqual([{ applied: [] }]);
  const { stdout } = await cli.run(['migrate', '--print'], { env: { BESTNOTIFY_SOURCE: '' } });
  expect(stdout).toContain(`create schema if not exists "${cli.outbox.schema}"`);
});

test('stats --watch goes on until it is interrupted, and ends with 0', async () => {
  await using watching = cli.start(['stats', '--watch', '--every', '0.05', '--json']);
  await watching.says(/\n.+\n/);
  watching.child.kill('SIGINT');
  expect((await watching.ended).code).toBe(0);
});

test('a missing source, schema or server is one line with the next step', async () => {
  const cases = [
    { args: ['list'], env: { BESTNOTIFY_SOURCE: '' }, says: 'CLI_USAGE' },
    { args: ['list', '--schema', 'nowhere'], env: {}, says: 'SENDER_SCHEMA_MISSING' },
    { args: ['list', '--database', 'postgres://postgres@127.0.0.1:1/none'], env: {}, says: 'ECONNREFUSED' },
    { args: ['list', '--database', 'mysql://x'], env: {}, says: 'SENDER_CONFIGURATION' },
  ];
  for (const { args, env, says } of cases) {
    const { code, stdout, stderr } = await cli.run(args, { env });
    expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stderr).toContain(says);
  }
});

test('what a merchant has lost is what the list by time holds beyond its own ids (R205)', async () => {
  await using merchant = await scriptedEndpoint(200);
  await cli.outbox.putEndpoint({ id: 'forgetful', url: merchant.url });
  await cli.outbox.sender.notifyMany(
    Array.from({ length: 5 }, (_, index) => ({ endpoint: 'forgetful', ...paid, bizId: `LOST${index + 1}` })),
  );
  await cli.outbox.sender.runOnce();
  const known = merchant.requests.map(({ headers }) => headers['webhook-id'] as string);
  const [lost] = known.splice(2, 1);
  const listed = await cli.lines(['list', '--endpoint', 'forgetful', '--state', 'delivered', '--since', '1h']);
  expect(listed).toHaveLength(5);
  expect(listed.map(({ id }) => id as string).filter((id) => !known.includes(id))).toEqual([lost]);
});

test('“why does the merchant not know about PAY7?” is answered by one command, with the one that mends it', async () => {
  await using merchant = await scriptedEndpoint({ status: 500, body: 'database is down' }, 200);
  await cli.outbox.putEndpoint({ id: 'asks', url: merchant.url, maxAttempts: 1 });
  const send = (bizId: string) => cli.outbox.sender.notify({ endpoint: 'asks', ...paid, bizId });
  const answer = async (bizId: string) => {
    const { stdout } = await cli.run(['show', bizId]);
    return [/^why +(.*)$/m.exec(stdout)?.[1] ?? '', /^next +(.*)$/m.exec(stdout)?.[1]] as const;
  };
  const { id } = await send('ASK1');
  expect(await answer('ASK1')).toEqual([matching(/^it has been due for \d+ s, and no worker/), matching(/worker/)]);
  await cli.outbox.sender.runOnce();
  const [why, next] = await answer('ASK1');
  expect(why).toBe('given up: every attempt was used up; the last attempt: the endpoint answered 500');
  expect(next).toBe(`once that is mended: bestnotify resend ${id}`);
  expect((await cli.run(['resend', id])).code).toBe(0);
  await cli.outbox.sender.runOnce();
  expect(await answer('ASK1')).toEqual(['the merchant acknowledged it', undefined]);

  await send('ASK2');
  await cli.outbox.sender.operations.holdEndpoint('asks', { note: 'maintenance' });
  expect(await answer('ASK2')).toEqual([
    matching(/^its endpoint is held \(maintenance\)/),
    'bestnotify endpoints resume asks',
  ]);
  await cli.outbox.sender.operations.resumeEndpoint('asks');
  await cli.outbox.query(`update endpoint_health set failures = 12, parked_until = now() + interval '4 minutes'
    where endpoint_key = (select key from endpoint where id = 'asks')`);
  expect(await answer('ASK2')).toEqual([matching(/parked after 12 failures .* in 4 min/), matching(/by itself/)]);
  await cli.outbox.query(`update endpoint_health set parked_until = null`);
  await cli.outbox.query(
    `update outbox set due_at = now() + interval '3 hours' where state = 0 and endpoint_key = (select key from endpoint where id = 'asks')`,
  );
  expect(await answer('ASK2')).toEqual(['it waits 3 h for its next attempt', matching(/^bestnotify send-now ntf_/)]);
});

test('runs that were interrupted are listed, for people and for programs', async () => {
  expect((await cli.run(['resend', '--unfinished'])).stderr).toContain('Every run has come to its end.');
  await cli.outbox.putEndpoint({ id: 'unfinished' });
  await cli.outbox.sender.notifyMany(
    Array.from({ length: 600 }, (_, n) => ({ endpoint: 'unfinished', ...paid, bizId: `RUN${n}` })),
  );
  await cli.outbox.query(`update outbox set state = 2, settled_at = now(), reason = 'gone'
    where endpoint_key = (select key from endpoint where id = 'unfinished')`);
  const death = new AbortController();
  const filter = { state: 'dead' as const, endpoint: 'unfinished' };
  await cli.outbox.sender.operations.resendMany(filter, { signal: death.signal, onProgress: () => death.abort() });
  const [run] = await cli.lines(['resend', '--unfinished']);
  expect(run).toEqual({
    ...{ run: anyText, filter, perSecond: 50, acceptDuplicateEffect: false, actor: 'operator', beganAt: anyText },
    ...{ matched: 600, resent: 500, skipped: 0 },
  });
  expect((await cli.run(['resend', '--unfinished'])).stdout).toMatch(/operator +500 +0 +600 +\{"state":"dead"/);
  const [end] = await cli.lines(['resend', '--resume', run?.['run'] as string]);
  expect(end).toMatchObject({ matched: 600, resent: 600, isFinished: true });
  expect(await cli.lines(['resend', '--unfinished'])).toEqual([]);
});
