import { createServer } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { requiredEnv } from '../fixtures/required-env.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { freshCommandLine, parseLines, type CommandLine } from './command-line.ts';
import { containing, matching } from './matchers.ts';

let cli: CommandLine;
beforeAll(async () => {
  cli = await freshCommandLine();
});
afterAll(() => cli[Symbol.asyncDispose]());

async function diagnose(args: readonly string[], env: Record<string, string> = {}) {
  const { code, stdout } = await cli.run(['doctor', ...args, '--json'], { env });
  const findings = parseLines(stdout) as { check: string; result: string; message: string; next?: string }[];
  for (const { result, next } of findings) expect(result === 'ok' || next !== undefined).toBe(true);
  return { code, findings, of: (check: string) => findings.filter((each) => each.check === check) };
}

test('a healthy outbox is ok in every line', async () => {
  const { code, of } = await diagnose([], { BESTNOTIFY_SECRET_KEY: Buffer.alloc(32, 1).toString('base64') });
  expect(code).toBe(0);
  for (const check of ['database', 'schema', 'clock', 'outbox', 'secrets'])
    expect(of(check)).toMatchObject([{ result: 'ok' }]);
});

test('a schema that is missing or behind is said with the next step', async () => {
  const missing = await diagnose(['--schema', 'nowhere']);
  expect([missing.code, missing.of('schema')]).toMatchObject([
    1,
    [{ result: 'fail', next: 'Run bestnotify migrate.' }],
  ]);
  await cli.outbox.query(`update migration set version = version + 100`);
  const ahead = await diagnose(['--no-addresses']);
  await cli.outbox.query(`update migration set version = version - 100`);
  expect([ahead.code, ahead.of('schema')]).toMatchObject([0, [{ result: 'warn' }]]);
});

test('a database that is away fails, and the rest is not guessed', async () => {
  const { code, findings } = await diagnose(['--database', 'postgres://postgres@127.0.0.1:1/none']);
  expect([code, findings[0]]).toMatchObject([1, { check: 'database', result: 'fail' }]);
  expect(findings.map(({ check }) => check)).toEqual(['database', 'secrets']);
});

test('work that nobody does and what is dead are warned about', async () => {
  await cli.outbox.putEndpoint({ id: 'waiting' });
  await cli.outbox.sender.notify({ ...paid, endpoint: 'waiting' });
  await cli.outbox.age({ byMs: 61_000 });
  const { code, of } = await diagnose(['--no-addresses']);
  expect([code, of('outbox')]).toMatchObject([
    0,
    [{ result: 'warn', message: matching(/^1 due, the oldest for 6\d s$/) }],
  ]);
});

test('the policy of Redis is looked at, and a Redis that is away fails', async () => {
  const here = await diagnose(['--no-addresses', '--redis', requiredEnv('REDIS_URL')]);
  expect(here.of('redis').map(({ message }) => message)).toEqual(
    expect.arrayContaining([matching(/^version \d/), matching(/^maxmemory-policy /)]),
  );
  const away = await diagnose(['--no-addresses', '--redis', 'redis://127.0.0.1:1']);
  expect([away.code, away.of('redis')]).toMatchObject([1, [{ result: 'fail', message: containing('ECONNREFUSED') }]]);
});

test('an address is reached, refused, or not public; nothing is sent to it', async () => {
  await using merchant = await scriptedEndpoint(200);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await cli.outbox.putEndpoint({ id: 'up', url: merchant.url });
  await cli.outbox.putEndpoint({ id: 'down', url: `http://127.0.0.1:${port}/` });
  expect((await diagnose(['--endpoint', 'up'])).of('address')).toMatchObject([{ result: 'ok' }]);
  expect((await diagnose(['--endpoint', 'down'])).of('address')).toMatchObject([{ result: 'warn' }]);
  const unknown = await diagnose(['--endpoint', 'unknown']);
  expect([unknown.code, unknown.of('address')]).toMatchObject([1, [{ result: 'fail' }]]);
  expect(merchant.requests).toEqual([]);
});
