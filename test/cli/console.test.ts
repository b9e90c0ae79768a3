import { expect, test } from 'vitest';
import { freshCommandLine } from './command-line.ts';

test('the console lets in whoever opens the printed link first, and nobody else', async () => {
  await using cli = await freshCommandLine();
  await using serving = cli.start(['console', '--port', '0', '--json', '--role', 'reader']);
  const [line] = await serving.says(/\{.+\}/);
  const { url } = JSON.parse(line) as { url: string };
  const { origin } = new URL(url);
  const api = (headers: Record<string, string> = {}) => fetch(`${origin}/api/overview`, { headers });

  expect((await api()).status).toBe(401);
  expect((await fetch(`${origin}/login?token=guess`)).status).toBe(401);
  const login = await fetch(url, { redirect: 'manual' });
  const cookie = login.headers.get('set-cookie') ?? '';
  expect([login.status, login.headers.get('location')]).toEqual([303, '/']);
  expect(cookie).toMatch(/HttpOnly; SameSite=Strict/);
  expect((await fetch(url, { redirect: 'manual' })).status).toBe(401);
  const session = cookie.split(';')[0]!;
  expect((await api({ cookie: session })).status).toBe(200);
  expect((await api({ cookie: `${session}x` })).status).toBe(401);
  serving.child.kill('SIGINT');
  expect((await serving.ended).code).toBe(0);
});
