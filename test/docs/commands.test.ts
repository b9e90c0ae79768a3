import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshCommandLine, start, type CommandLine } from '../cli/command-line.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { codeBlocks, documents } from './markdown.ts';

let cli: CommandLine;
beforeAll(async () => {
  cli = await freshCommandLine();
  await cli.outbox.putEndpoint({ id: 'merchant-42', url: 'https://127.0.0.1/notify' });
  await cli.outbox.sender.notify({ endpoint: 'merchant-42', ...paid, subject: 'ORDER7' });
});
afterAll(() => cli[Symbol.asyncDispose]());

/** The commands of a README, without what is said about them. */
function commandsOf(name: string): string[][] {
  const document = documents.find((each) => each.name === name);
  const texts = document === undefined ? [] : codeBlocks(document).map(({ code }) => code);
  return texts
    .flatMap((code) => code.split('\n'))
    .filter((line) => line.startsWith('bestnotify '))
    .map((line) => line.replace(/#.*$/, '').trim().split(/\s+/).slice(1));
}

test.each(['README.md', 'README.zh-CN.md'])('the commands of %s do what is said of them', async (name) => {
  const commands = commandsOf(name);
  expect(commands.map(([command]) => command)).toEqual(['doctor', 'show', 'resend', 'console']);
  for (const args of commands.filter(([command]) => command !== 'console')) {
    const { code, stdout } = await cli.run(args);
    expect([args, code]).toEqual([args, 0]);
    expect(stdout).not.toBe('');
  }
  await using page = start([...commands.at(-1)!, '--port', '0'], { env: cli.env });
  expect((await page.says(/http:\/\/127\.0\.0\.1:\d+\S*/))[0]).toContain('http');
});
