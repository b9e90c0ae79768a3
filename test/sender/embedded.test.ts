import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ConfigurationError, createSender, generateSecret, type Sender } from '@bestnotify/sender';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { awaitUntil } from '../fixtures/await-until.ts';
import { startChild } from '../fixtures/child-process.ts';
import { paid, source } from './fresh-outbox.ts';

// Opening a PGlite takes seconds, so the tests share one directory, and each goes on where the one before stopped.
let folder = '';
let directory = '';

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'bestnotify-embedded-'));
  directory = path.join(folder, 'data', 'outbox');
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** A sender in this process; while it is open nobody else may be. */
function openHere(): Sender & AsyncDisposable {
  const keys = [{ id: 'test', key: Buffer.alloc(32, 1).toString('base64') }];
  const sender = createSender({ source, database: `pglite:${directory}`, secretStorage: { keys } });
  return Object.assign(sender, { [Symbol.asyncDispose]: () => sender.close() });
}

const startPlatform = (...args: string[]) => startChild('embedded-platform.mjs', { args: [directory, ...args] });

test('a process killed while it makes the database leaves nothing that stops the next one', async () => {
  await using first = startPlatform();
  await awaitUntil('the database is half made', () => existsSync(path.join(`${directory}.unfinished`, 'base')), {
    timeoutMs: 60_000,
  });
  await first.kill();
  expect(existsSync(directory)).toBe(false);

  await using sender = openHere();
  expect(await sender.migrate()).toContain(1);

  await sender.endpoints.put({ id: 'merchant-42', url: 'https://merchant.example/', secrets: [generateSecret()] });
  expect(await sender.notify({ endpoint: 'merchant-42', ...paid })).toMatchObject({ created: true });
  expect(await readdir(path.dirname(directory))).toEqual(['outbox', 'outbox.lock']);
}, 120_000);

test('a second process is refused with the name of the first, and does no harm', async () => {
  await using sender = openHere();
  await sender.migrate();

  await using second = startPlatform();
  expect(await second.line(/^refused|^open/)).toMatch(
    new RegExp(`^refused SENDER_DATABASE_LOCKED .*${directory}.* process ${process.pid}\\b.*DATABASE_URL`),
  );
  await second.ended;
  const third = createSender({ source, database: `pglite:${directory}` });
  await expect(third.migrate()).rejects.toMatchObject({ code: 'SENDER_DATABASE_LOCKED', directory });
  await expect(third.migrate()).rejects.toThrow('this process already');

  expect((await sender.operations.list()).items).toHaveLength(1);
}, 60_000);

test('a closed database may be opened by another process, and again by this one', async () => {
  expect(existsSync(`${directory}.lock`)).toBe(false);
  await using child = startPlatform();
  await child.line(/^open/, 60_000);
  const sender = createSender({ source, database: `pglite:${directory}` });
  await expect(sender.migrate()).rejects.toThrow(`process ${child.pid}`);

  child.write('PAY2');
  await child.line(/^acked/);
  child.write('close');
  await child.line(/^closed/);
  await child.ended;

  expect(await sender.migrate()).toEqual([]); // the same sender: its first try was not its last
  expect((await sender.operations.list()).items.map((item) => item.bizId)).toEqual(['PAY2', 'PAY1']);
  await sender.close();
}, 60_000);

test('a closed sender refuses what needs the database, and leaves it closed', async () => {
  const sender = openHere();
  await sender.migrate();
  await sender.close();
  await sender.close();

  for (const call of [
    () => sender.notify({ endpoint: 'merchant-42', ...paid, bizId: 'LATE' }),
    () => sender.migrate(),
    () => sender.operations.list(),
    () => sender.endpoints.list(),
    () => sender.runOnce(),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'SENDER_CLOSED' });
  }
  expect(() => sender.startWorker()).toThrow('This sender is closed');
  expect(existsSync(`${directory}.lock`)).toBe(false);

  await using another = openHere();
  expect((await another.operations.list({ bizId: 'LATE' })).items).toEqual([]);
}, 60_000);

test('after a SIGKILL the stale lock is taken over by exactly one of several, and no acknowledged row is missing', async () => {
  await using killed = startPlatform();
  await killed.line(/^open/, 60_000);
  for (let n = 10; n < 30; n += 1) killed.write(`PAY${n}`);
  await awaitUntil('ten are acknowledged', () => killed.lines.filter((line) => line.startsWith('acked')).length >= 10);
  await killed.kill();
  const acked = killed.lines.filter((line) => line.startsWith('acked')).map((line) => line.slice('acked '.length));
  expect(await readFile(`${directory}.lock`, 'utf8')).toMatch(new RegExp(`^${killed.pid} `));

  const heirs = Array.from({ length: 4 }, () => startPlatform('wait'));
  await Promise.all(heirs.map((heir) => heir.line(/^waiting/)));
  for (const heir of heirs) heir.write('go');
  const answers = await Promise.all(heirs.map((heir) => heir.line(/^open|^refused/, 60_000)));
  expect(answers.filter((answer) => answer === 'open')).toHaveLength(1);
  expect(answers.filter((answer) => answer.startsWith('refused SENDER_DATABASE_LOCKED'))).toHaveLength(3);
  await Promise.all(heirs.map((heir) => heir.kill('SIGTERM')));

  await using sender = openHere();
  const { items } = await sender.operations.list();
  expect(items.map((item) => item.id)).toEqual(expect.arrayContaining(acked));
}, 120_000);

test('a lock of a process whose id is used again by another is stale', async () => {
  await writeFile(`${directory}.lock`, `${process.pid} 1`); // our id, but another start time
  await using sender = openHere();
  expect(await sender.migrate()).toEqual([]);
}, 60_000);

test("a directory with somebody else's files is refused, and left as it is", async () => {
  const home = path.join(folder, 'home');
  await mkdir(home);
  await writeFile(path.join(home, 'thesis.txt'), 'years of work');
  const sender = createSender({ source, database: `pglite:${home}` });

  await expect(sender.migrate()).rejects.toBeInstanceOf(ConfigurationError);
  await expect(sender.migrate()).rejects.toThrow('holds something other than a database');

  expect(await readdir(home)).toEqual(['thesis.txt']);
  expect((await readdir(folder)).sort()).toEqual(['data', 'home']);
});
