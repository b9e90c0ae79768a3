import type { PGlite } from '@electric-sql/pglite';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ConfigurationError } from '../errors.js';
import type { Database, Queryable, Row } from './database.js';
import { lockDirectory } from './lock-directory.js';

/** Any PGlite instance or transaction; only `query` is used. */
export interface PgliteClient {
  query(text: string, parameters?: unknown[]): Promise<{ rows: unknown[] }>;
}

/** Wraps a PGlite instance or transaction. */
export function overPglite(client: PgliteClient): Queryable {
  return {
    query: async (text, parameters) => (await client.query(text, [...parameters])).rows as Row[],
  };
}

/**
 * Opens the embedded database in `directory`, creating it when missing: the zero-setup default, for one process.
 *
 * It starts on first use, because the first start takes seconds.
 *
 * @throws DatabaseLockedError (from the first query) if another process has it open.
 */
export function openPglite(directory: string): Database {
  const path = resolve(directory);
  let opening: Promise<{ instance: PGlite; unlock: () => void }> | undefined;
  const open = async () => {
    opening ??= start(path);
    try {
      return (await opening).instance;
    } catch (error) {
      opening = undefined; // the next call may find the lock free
      throw error;
    }
  };
  return {
    isSingleSession: true,
    query: async (text, parameters) => overPglite(await open()).query(text, parameters),
    transaction: async (work) => {
      const instance = await open();
      return instance.transaction((tx) => work(overPglite(tx)));
    },
    script: async (text) => {
      await (await open()).exec(text);
    },
    close: async () => {
      if (opening === undefined) return;
      const { instance, unlock } = await opening;
      opening = undefined;
      await instance.close();
      unlock();
    },
  };
}

async function start(path: string): Promise<{ instance: PGlite; unlock: () => void }> {
  const { PGlite } = await import('@electric-sql/pglite');
  mkdirSync(dirname(path), { recursive: true });
  refuseForeign(path);
  const unlock = lockDirectory(path);
  try {
    if (!existsSync(join(path, 'PG_VERSION'))) await initialise(PGlite, path);
    return { instance: await PGlite.create(path), unlock };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** A process killed while initialising leaves a half-made directory that aborts ever after: make it elsewhere, then rename. */
async function initialise(Pglite: typeof PGlite, path: string): Promise<void> {
  const unfinished = `${path}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  const instance = await Pglite.create(unfinished);
  await instance.close();
  renameSync(unfinished, path); // onto nothing, or an empty directory
}

/** Somebody's files must never be taken for a database, let alone be replaced by one. */
function refuseForeign(path: string): void {
  if (!existsSync(path) || existsSync(join(path, 'PG_VERSION')) || readdirSync(path).length === 0) return;
  throw new ConfigurationError({
    option: 'database',
    problem: `names the directory ${path}, which holds something other than a database`,
    fix: 'Name one that is empty or does not exist.',
  });
}
