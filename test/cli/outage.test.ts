import { afterAll, beforeAll, expect, test } from 'vitest';
import { hang, scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { paid } from '../sender/fresh-outbox.ts';
import { freshCommandLine, type CommandLine } from './command-line.ts';
import { silentProxy, type SilentProxy } from './silent-proxy.ts';

let cli: CommandLine;
beforeAll(async () => {
  cli = await freshCommandLine();
});
afterAll(() => cli[Symbol.asyncDispose]());

async function proxied(): Promise<SilentProxy & { url: string }> {
  const url = new URL(cli.env['DATABASE_URL']!);
  const proxy = await silentProxy({ host: url.hostname, port: Number(url.port || 5432) });
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return Object.assign(proxy, { url: url.href });
}

const brief = ['--heartbeat-seconds', '0.5', '--silent-seconds', '2'];

test('a worker whose database falls silent says so and ends with 1, so that a fresh one can start (R209)', async () => {
  await using proxy = await proxied();
  await using worker = cli.start(['work', ...brief], { env: { DATABASE_URL: proxy.url } });
  await worker.says(/working for acme-pay/);
  proxy.goSilent();
  await worker.says(/the database is away/);
  const { code, stderr } = await worker.ended;
  expect(code).toBe(1);
  expect(stderr).toContain('CLI_DATABASE_SILENT');
});

test('a worker that was stopped for a while says so and goes on when it may run again (R209)', async () => {
  await using merchant = await scriptedEndpoint(200);
  await cli.outbox.putEndpoint({ id: 'm-stopped', url: merchant.url });
  await using worker = cli.start(['work', ...brief]);
  await worker.says(/working for acme-pay/);
  worker.child.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 8_000)); // the pause is the case: longer than the silence that ends a worker
  worker.child.kill('SIGCONT');
  await worker.says(/this process did not run for \d+ s/);
  await cli.outbox.sender.notify({ ...paid, endpoint: 'm-stopped' });
  await merchant.received(1);
  worker.child.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
});

test('a worker that cannot write its verdicts down is cut off in time, with a code of its own (R166)', async () => {
  await using proxy = await proxied();
  await using merchant = await scriptedEndpoint(hang);
  await cli.outbox.putEndpoint({ id: 'm-forced', url: merchant.url });
  await using worker = cli.start(['work', '--silent-seconds', '600', '--grace-ms', '100'], {
    env: { DATABASE_URL: proxy.url },
  });
  await worker.says(/working for acme-pay/);
  await cli.outbox.sender.notify({ ...paid, endpoint: 'm-forced' });
  await merchant.received(1);
  proxy.goSilent();
  worker.child.kill('SIGTERM');
  const { code, stdout } = await worker.ended;
  expect(code).toBe(4);
  expect(stdout).toContain('was cut off');
}, 60_000);
