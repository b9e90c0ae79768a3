import { expect, test } from 'vitest';
import { dnsLookUp } from '../src/wire/look-up-name.js';
import { createResolver } from '../src/wire/resolve-address.js';

const rules = { senderAllows: [], endpointAllows: [], denies: [] };

/** A resolver whose clock and name server are the test's. */
function scripted(answer: (hostname: string) => Promise<{ addresses: string[]; ttlMs: number }>) {
  const state = { nowMs: 0, asked: [] as string[] };
  const resolver = createResolver({
    lookUp: (hostname) => {
      state.asked.push(hostname);
      return answer(hostname);
    },
    timeoutMs: 100,
    monotonicMs: () => state.nowMs,
  });
  return { state, resolve: (hostname: string) => resolver.resolve(hostname, rules) };
}

const withTtl = (ttlMs: number) => () => Promise.resolve({ addresses: ['8.8.8.8'], ttlMs });

test.each([
  ['its TTL', 20_000, 20_000],
  ['a second, if it may not be kept at all', 0, 1000],
  ['a minute at most', 86_400_000, 60_000],
])('R112 an answer is kept for %s', async (_what, ttlMs, keptMs) => {
  const { state, resolve } = scripted(withTtl(ttlMs));
  await resolve('a.example');
  state.nowMs = keptMs - 1;
  await resolve('a.example');
  expect(state.asked).toHaveLength(1);
  state.nowMs = keptMs;
  await resolve('a.example');
  expect(state.asked).toHaveLength(2);
});

test('R112 a failure is kept for five seconds', async () => {
  const { state, resolve } = scripted(() => Promise.reject(new Error('SERVFAIL')));
  await expect(resolve('a.example')).rejects.toMatchObject({ because: 'dns', message: 'SERVFAIL' });
  state.nowMs = 4999;
  await expect(resolve('a.example')).rejects.toMatchObject({ because: 'dns' });
  expect(state.asked).toHaveLength(1);
  state.nowMs = 5000;
  await expect(resolve('a.example')).rejects.toMatchObject({ because: 'dns' });
  expect(state.asked).toHaveLength(2);
});

test('R112 a name is asked for once, however many wait for it, and never longer than the limit', async () => {
  const { state, resolve } = scripted(() => new Promise(() => undefined));
  const failures = await Promise.allSettled(Array.from({ length: 20 }, () => resolve('dead.example')));
  expect(failures.every(({ status }) => status === 'rejected')).toBe(true);
  expect(state.asked).toEqual(['dead.example']);
});

test('the cache does not grow with the names it has seen', async () => {
  const { state, resolve } = scripted(withTtl(60_000));
  for (let i = 0; i <= 10_000; i++) await resolve(`n${i}.example`);
  await resolve('n10000.example');
  expect(state.asked).toHaveLength(10_001);
  await resolve('n0.example'); // the oldest was dropped
  expect(state.asked).toHaveLength(10_002);
});

test('addresses and localhost are never asked for', async () => {
  const { state, resolve } = scripted(withTtl(0));
  expect(await resolve('8.8.4.4')).toEqual(['8.8.4.4']);
  expect(await resolve('[2606:4700::1]')).toEqual(['2606:4700::1']);
  await expect(resolve('localhost')).rejects.toMatchObject({ because: 'forbidden-address' });
  expect(state.asked).toEqual([]);
});

test('an empty answer is a failure of the name', async () => {
  const { resolve } = scripted(() => Promise.resolve({ addresses: [], ttlMs: 1000 }));
  await expect(resolve('a.example')).rejects.toMatchObject({ because: 'dns', message: 'a.example has no address' });
});

test('the real look-up rejects a name that cannot exist, within its limit', async () => {
  await expect(dnsLookUp({ asksSystem: false })('no-such-name.invalid')).rejects.toBeInstanceOf(Error);
  await expect(dnsLookUp({ asksSystem: true })('no-such-name.invalid')).rejects.toBeInstanceOf(Error);
});

test('the system resolver knows the names of the hosts file', async () => {
  const { addresses } = await dnsLookUp({ asksSystem: true })('localhost');
  expect(addresses.some((address) => address === '127.0.0.1' || address === '::1')).toBe(true);
});
