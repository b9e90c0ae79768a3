import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { bin, freshCommandLine, type CommandLine } from './command-line.ts';

const rows = 8_000;
let cli: CommandLine;
beforeAll(async () => {
  cli = await freshCommandLine();
  await cli.outbox.putEndpoint({ id: 'many' });
  const inputs = Array.from({ length: rows }, (_, n) => ({
    ...{ endpoint: 'many', type: 'payment.success', bizId: `PAY${n}`, subject: 'x'.repeat(60), data: {} },
  }));
  for (let from = 0; from < rows; from += 1000) await cli.outbox.sender.notifyMany(inputs.slice(from, from + 1000));
});
afterAll(() => cli[Symbol.asyncDispose]());

const env = () => ({ ...process.env, ...cli.env });

test('3 MB of rows reach a reader that starts late, whole and as they would a file (R211)', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'cli-'));
  const file = path.join(folder, 'rows');
  await promisify(execFile)('sh', ['-c', `'${process.execPath}' '${bin}' list --all --json > '${file}'`], {
    env: env(),
  });
  const inFile = await readFile(file);
  await rm(folder, { recursive: true });
  const child = spawn(process.execPath, [bin, 'list', '--all', '--json'], {
    env: env(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await pause(300); // the lateness of the reader is the case
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) chunks.push(chunk);
  const piped = Buffer.concat(chunks);
  expect(piped.byteLength).toBeGreaterThan(2.9 * 1024 * 1024);
  expect(piped.equals(inFile)).toBe(true);
  expect(piped.toString().trimEnd().split('\n')).toHaveLength(rows);
}, 60_000);

test('a reader that closes early ends it quietly (R212)', async () => {
  for (const json of ['--json', '']) {
    const { stdout, stderr } = await promisify(execFile)(
      'bash',
      [
        '-c',
        `set -o pipefail; '${process.execPath}' '${bin}' list --all ${json} | head -c 1; echo " \${PIPESTATUS[0]}"`,
      ],
      { env: env() },
    );
    expect([stdout.slice(1), stderr]).toEqual([' 0\n', '']);
  }
});

test('a resend whose reader has gone is carried out to its end (R212)', async () => {
  await cli.outbox.query(
    `update outbox set state = 2, settled_at = now() where number in (select number from outbox order by number limit 700)`,
  );
  await promisify(execFile)('sh', ['-c', `'${process.execPath}' '${bin}' resend --state dead --json | true`], {
    env: env(),
  });
  expect(await cli.lines(['list', '--state', 'dead'])).toEqual([]);
});

test('remote text cannot command the terminal, in tables or in JSON (R214)', async () => {
  const hostile = Buffer.concat([
    Buffer.from('1b5b324a1b5d303b4f4b07', 'hex'), // clears the screen, sets the title
    Buffer.from('\u009b31m\u202eOK\u2066\u200b\u007f\r\n\u2028', 'utf8'),
  ]);
  await using merchant = await scriptedEndpoint({ status: 500, body: hostile });
  await cli.outbox.putEndpoint({ id: 'hostile', url: merchant.url, maxAttempts: 1 });
  const { id } = await cli.outbox.sender.notify({
    ...paid,
    endpoint: 'hostile',
    bizId: 'HOSTILE1',
    lane: 'urgent',
    data: { name: '\u001b]8;;http://evil.example\u0007link\u202e' },
  });
  await cli.outbox.sender.runOnce({ limit: 1 });
  // eslint-disable-next-line no-control-regex -- what must not come out
  const unsafe = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/;
  const note = '\u001b[2Jnote\u202e';
  await cli.run(['close', id, '--note', note]);
  for (const args of [['show', id], ['audit'], ['list', '--endpoint', 'hostile']]) {
    for (const json of [[], ['--json']]) {
      const { code, stdout } = await cli.run([...args, ...json]);
      expect(code).toBe(0);
      expect(stdout).not.toMatch(unsafe);
    }
  }
  const table = await cli.run(['show', id]);
  expect(table.stdout).toContain('\\u001b[2J');
  const [shown] = await cli.lines(['show', id]);
  expect(shown).toMatchObject({ attemptLog: [{ snippet: { text: hostile.toString() } }] });
  const [entry] = await cli.lines(['audit', '--notification', id, '--limit', '1']);
  expect(entry).toMatchObject({ note });
});

test('what an argument says comes back escaped too', async () => {
  const { stderr } = await cli.run(['show', 'x\u001b[2J']);
  expect(stderr).toContain('\\u001b[2J');
  expect(stderr).not.toContain('\u001b');
});

test('colour is for terminals: none in a pipe', async () => {
  for (const args of [['stats'], ['list', '--limit', '3'], ['endpoints', 'list'], ['doctor', '--no-addresses']]) {
    expect((await cli.run(args)).stdout).not.toContain('\u001b');
  }
});

test('a list names the place to go on from, and goes on there', async () => {
  const first = await cli.run(['list', '--endpoint', 'many', '--limit', '2', '--json']);
  const [, after = ''] = /--after (\S+)/.exec(first.stderr) ?? [];
  const both = await cli.lines(['list', '--endpoint', 'many', '--limit', '4']);
  const second = await cli.lines(['list', '--endpoint', 'many', '--limit', '2', '--after', after]);
  expect([
    ...first.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    ...second,
  ]).toEqual(both);
  expect((await cli.run(['list', '--state', 'dead', '--after', after])).code).toBe(1);
});
