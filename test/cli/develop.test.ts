import { generateSecret, maskSecret } from '@bestnotify/protocol';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { paid } from '../sender/fresh-outbox.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshCommandLine, parseLines, start, type CommandLine } from './command-line.ts';
import { containing } from './matchers.ts';

let cli: CommandLine;
let folder: string;
beforeAll(async () => {
  cli = await freshCommandLine();
  folder = await mkdtemp(path.join(tmpdir(), 'cli-'));
});
afterAll(async () => {
  await cli[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const secret = generateSecret();
const env = { BESTNOTIFY_SECRET: secret };

async function file(name: string, content: string | Uint8Array): Promise<string> {
  const at = path.join(folder, name);
  await writeFile(at, content);
  return at;
}

/** A request as it might have been captured. */
async function captured(body: string, timestampSeconds = Math.floor(Date.now() / 1000)) {
  const sent = await file('sent', body);
  const args = ['sign', '--body', sent, '--id', 'ntf_1', '--timestamp', String(timestampSeconds)];
  const { stdout } = await start(args, { env }).ended;
  return { sent, headers: await file('headers', `POST /notify HTTP/1.1\r\nHost: x\r\n${stdout}`) };
}

type Report = { genuine: boolean; checks: { check: string; result: string; message: string }[] };

async function examine(args: readonly string[], secrets = env): Promise<[code: number | null, report: Report]> {
  const { code, stdout, stderr } = await start(['verify', ...args, '--json'], { env: secrets }).ended;
  expect(stderr).toBe('');
  return [code, parseLines(stdout)[0] as unknown as Report];
}

const faults = ({ checks }: Report) => checks.filter(({ result }) => result !== 'ok').map(({ check }) => check);

test('verify says that a genuine request is genuine (R044)', async () => {
  const { sent, headers } = await captured('{"a": 1.0}');
  const [code, report] = await examine(['--headers', headers, '--body', sent]);
  expect([code, report.genuine, faults(report)]).toEqual([0, true, []]);
  expect(report.checks).toContainEqual({ check: 'key', result: 'ok', message: `signed with ${maskSecret(secret)}` });
});

test('verify names the time of an old request, and no other part (R044)', async () => {
  const { sent, headers } = await captured('{}', 1_893_456_000);
  const [code, report] = await examine(['--headers', headers, '--body', sent]);
  expect([code, faults(report)]).toEqual([2, ['time']]);
  const [then] = await examine(['--headers', headers, '--body', sent, '--at', '2030-01-01T00:05:00Z']);
  const [later] = await examine(['--headers', headers, '--body', sent, '--at', '2030-01-01T00:05:01Z']);
  expect([then, later]).toEqual([0, 2]);
});

test('verify tells one changed byte from another key by the original body (R044)', async () => {
  const { sent, headers } = await captured('{"amount":"100.00"}');
  const changed = await file('changed', '{"amount":"900.00"}');
  const [code, byte] = await examine(['--headers', headers, '--body', changed, '--original', sent]);
  expect([code, faults(byte)]).toEqual([2, ['bytes']]);
  expect(byte.checks.find(({ check }) => check === 'bytes')?.message).toContain('from byte 11 on');
  const other = { BESTNOTIFY_SECRET: generateSecret() };
  const [, key] = await examine(['--headers', headers, '--body', sent, '--original', sent], other);
  expect(faults(key)).toEqual(['key']);
  const [, either] = await examine(['--headers', headers, '--body', changed]);
  expect(either.checks.filter(({ result }) => result === 'unknown').map(({ check }) => check)).toEqual([
    'key',
    'bytes',
  ]);
});

test('verify finds by itself what parsers and editors do to a body (R044)', async () => {
  const { headers } = await captured('{"a":1,"b":"c/d"}');
  const damages = ['{"a":1,"b":"c/d"}\n', '{\n  "a": 1,\n  "b": "c/d"\n}', '\ufeff{"a":1,"b":"c/d"}'];
  for (const [n, damaged] of damages.entries()) {
    const [code, report] = await examine(['--headers', headers, '--body', await file(`damaged${n}`, damaged)]);
    expect([damaged, code, faults(report)]).toEqual([damaged, 2, ['bytes']]);
  }
});

test('verify says which headers are missing, and that milliseconds are no seconds', async () => {
  const { sent } = await captured('{}');
  const [, missing] = await examine(['--headers', await file('none', 'Host: x\n'), '--body', sent]);
  expect(faults(missing)).toEqual(['headers']);
  const [, report] = await examine(['--headers', (await captured('{}', 189_345_600_000)).headers, '--body', sent]);
  expect(report.checks.find(({ check }) => check === 'time')?.message).toContain('milliseconds');
});

test('a secret is refused as an argument, missing as such, and never repeated', async () => {
  const { sent } = await captured('{}');
  const missing = await start(['sign', '--body', sent, '--json']).ended;
  expect([missing.code, parseLines(missing.stderr)]).toMatchObject([1, [{ error: { code: 'CLI_SECRET' } }]]);
  const argument = await start(['sign', '--body', sent, '--secret', secret]).ended;
  expect([argument.code, argument.stdout]).toEqual([1, '']);
  const stdin = await start(['sign', '--body', sent, '--secret-stdin'], { input: `${secret}\n` }).ended;
  expect(stdin.code).toBe(0);
  expect(stdin.stdout + stdin.stderr).not.toContain(secret.slice(6));
});

test('listen verifies, prints and answers as told', async () => {
  const args = [
    'listen',
    '--source',
    'acme-pay',
    '--to',
    'm-listen',
    '--port',
    '0',
    '--answer',
    '503,success',
    '--json',
  ];
  await using listening = start(args, { env });
  const [, url = ''] = await listening.says(/Listening on (\S+)/);
  await cli.outbox.putEndpoint({ id: 'm-listen', url: `${url}/notify`, secrets: [secret] });
  const { id } = await cli.outbox.sender.notify({ ...paid, endpoint: 'm-listen', bizId: 'LISTEN1' });
  await cli.outbox.sender.runOnce();
  expect((await cli.outbox.sender.operations.show(id)).attemptLog).toMatchObject([{ status: 503 }]);
  await cli.outbox.sender.operations.sendNow(id);
  await cli.outbox.sender.runOnce();
  expect(await cli.outbox.sender.operations.show(id)).toMatchObject({ state: 'delivered', reason: 'handled' });
  const forged = await fetch(`${url}/notify`, { method: 'POST', body: '{}' });
  expect([forged.status, await forged.text()]).toEqual([401, 'fail']);
  listening.child.kill('SIGINT');
  const { code, stdout } = await listening.ended;
  expect(code).toBe(0);
  expect(parseLines(stdout)).toMatchObject([
    { verdict: 'as-told', status: 503, notification: { bizId: 'LISTEN1', data: paid.data } },
    { verdict: 'handled', status: 200, notification: { id } },
    { verdict: 'invalid-signature', status: 401, message: containing('webhook-id') },
  ]);
});

test('a copy sent to a receiver of one’s own verifies, says with which secret, and changes nothing stored (R208)', async () => {
  await using down = await scriptedEndpoint(500);
  const own = await cli.outbox.putEndpoint({ id: 'm-forward', url: down.url });
  const ownEnv = { BESTNOTIFY_SECRET: own };
  const { id } = await cli.outbox.sender.notify({ ...paid, endpoint: 'm-forward', bizId: 'FORWARD1' });
  await cli.outbox.sender.runOnce();
  const [before] = await cli.lines(['show', id]);
  expect(before).toMatchObject({ state: 'pending', attempts: 1 });
  const args = ['listen', '--source', 'acme-pay', '--to', 'm-forward', '--port', '0', '--json'];
  await using listening = start(args, { env: ownEnv });
  const [, url = ''] = await listening.says(/Listening on (\S+)/);
  const [copy] = await cli.lines(['forward', id, '--to', url], { env: ownEnv });
  expect(copy).toMatchObject({
    id,
    signedWith: [maskSecret(own)],
    status: 200,
    acknowledged: true,
    reply: { text: 'success' },
  });
  const refused = await cli.run(['forward', id, '--to', url, '--json'], {
    env: { BESTNOTIFY_SECRET: generateSecret() },
  });
  expect(refused.code).toBe(2);
  expect(await cli.lines(['show', id])).toEqual([before]);
});
