import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { start } from './command-line.ts';

const commands = [
  ...['migrate', 'work', 'process', 'prune', 'list', 'show', 'stats', 'audit', 'doctor', 'console'],
  ...['send', 'send-now', 'resend', 'cancel', 'close', 'erase', 'listen', 'forward', 'sign', 'verify', 'completion'],
  ...['list', 'show', 'put', 'hold', 'resume', 'rotate-secret', 'test', 'remove'].map((name) => `endpoints ${name}`),
];

test.each(commands)('bestnotify %s --help has a summary, --json and examples', async (command) => {
  const { code, stdout, stderr } = await start([...command.split(' '), '--help']).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`Usage: bestnotify ${command}`);
  expect(stdout).toContain('--json');
  expect(stdout).toMatch(/Examples:\n {2}\$ bestnotify /);
});

test('the overview names every command, the environment and the exit codes', async () => {
  const { code, stdout } = await start(['--help']).ended;
  expect(code).toBe(0);
  const tops = [...new Set(commands.map((command) => command.split(' ')[0]!))];
  expect(tops.filter((name) => !new RegExp(`^  ${name} `, 'm').test(stdout))).toEqual([]);
  expect(stdout).toContain('Exit codes:');
  expect(stdout).toContain('BESTNOTIFY_SECRET');
});

test('no option anywhere takes a secret as its value', async () => {
  const found: string[] = [];
  for (const command of ['send', 'listen', 'forward', 'sign', 'verify', 'endpoints put', 'endpoints rotate-secret']) {
    const { stdout } = await start([...command.split(' '), '--help']).ended;
    found.push(...(stdout.match(/--\S*(secret|key|password|token)\S* <[^>]+>/gi) ?? []));
  }
  expect(found).toEqual([]);
});

test('an unknown command, an unknown option and a missing argument are errors on stderr with code 1', async () => {
  for (const args of [
    ['sned'],
    ['list', '--colour'],
    ['show'],
    ['list', '--limit', '0'],
    ['list', '--since', 'soon'],
  ]) {
    const { code, stdout, stderr } = await start(args).ended;
    expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: .+ \(CLI_USAGE\)\n/);
  }
});

test('with --json an error about usage is one line of JSON too', async () => {
  for (const args of [['list', '--colour'], ['show'], ['send', 'm1'], ['list', '--state', 'gone']]) {
    const { code, stdout, stderr } = await start([...args, '--json']).ended;
    expect([args, code, stdout]).toEqual([args, 1, '']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'CLI_USAGE' } });
  }
});

test('the version is the one of the package', async () => {
  const manifest = JSON.parse(readFileSync(new URL('../../packages/cli/package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  expect((await start(['--version']).ended).stdout).toBe(`${manifest.version}\n`);
});

test.each(['bash', 'zsh', 'fish'])('the completion for %s names commands, their options and choices', async (shell) => {
  const { code, stdout } = await start(['completion', shell]).ended;
  expect(code).toBe(0);
  for (const word of ['rotate-secret', 'dry-run', 'cancelled']) expect(stdout).toContain(word);
});

test('bash completes commands, subcommands, options and states', async () => {
  const { stdout: script } = await start(['completion', 'bash']).ended;
  const complete = async (...words: string[]) => {
    const line = words.map((word) => `'${word}'`).join(' ');
    const { stdout } = await promisify(execFile)('bash', [
      '-c',
      `${script}\nCOMP_WORDS=(bestnotify ${line}); COMP_CWORD=${words.length}; _bestnotify; printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]);
    return stdout.trim().split('\n');
  };
  expect(await complete('res')).toEqual(['resend']);
  expect(await complete('endpoints', 'ro')).toEqual(['rotate-secret']);
  expect(await complete('resend', '--dry')).toEqual(['--dry-run']);
  expect(await complete('list', '--state', 'de')).toEqual(
    ['delivered', 'dead'].filter((each) => each.startsWith('de')),
  );
});
