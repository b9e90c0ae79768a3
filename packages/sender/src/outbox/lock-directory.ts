import { linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseLockedError } from './errors.js';

/**
 * Takes the lock file beside a database directory, so that a second process refuses instead of losing rows.
 *
 * The file names its holder by process id and start time, because process ids are used again; a lock whose holder is
 * gone is taken over.
 *
 * @returns a function that gives the lock up.
 * @throws {@link DatabaseLockedError} naming the holder.
 */
export function lockDirectory(directory: string): () => void {
  const file = `${directory}.lock`;
  if (!tryCreate(file)) {
    refuseIfHeld(directory, file);
    takeOver(directory, file);
  }
  const release = () => rmSync(file, { force: true });
  process.once('exit', release);
  return () => {
    process.removeListener('exit', release);
    release();
  };
}

/** Linking a file that is written already: the lock appears at once and whole, for exactly one process. */
function tryCreate(file: string): boolean {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${process.pid} ${startOf(process.pid) ?? 'unknown'}`);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(draft, { force: true });
  }
}

function refuseIfHeld(directory: string, file: string): void {
  const holder = readHolder(file);
  if (holder === undefined || !isAlive(holder)) return;
  throw new DatabaseLockedError({
    directory,
    holder: holder.pid === process.pid ? 'this process already' : `process ${holder.pid}`,
  });
}

const takeOverMs = 10_000;

/** Two that find the same dead holder must not both remove its lock: the second would remove the first one's new lock. */
function takeOver(directory: string, file: string): void {
  const guard = `${file}.takeover`;
  try {
    mkdirSync(guard);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (ageMsOf(guard) > takeOverMs) rmSync(guard, { recursive: true, force: true }); // its maker died in the middle
    throw new DatabaseLockedError({ directory, holder: 'another process that is just starting' });
  }
  try {
    refuseIfHeld(directory, file); // somebody may have taken it over since we looked
    rmSync(file, { force: true });
    if (!tryCreate(file)) throw new DatabaseLockedError({ directory, holder: 'another process that is just starting' });
  } finally {
    rmSync(guard, { recursive: true, force: true });
  }
}

/** By the file system's clock alone: a new entry beside it is dated now. */
function ageMsOf(path: string): number {
  const now = `${path}.${process.pid}`;
  try {
    writeFileSync(now, '');
    return statSync(now).mtimeMs - statSync(path).mtimeMs;
  } catch {
    return 0; // gone meanwhile
  } finally {
    rmSync(now, { force: true });
  }
}

interface Holder {
  pid: number;
  start: string | undefined;
}

function readHolder(file: string): Holder | undefined {
  try {
    const [pid, start] = readFileSync(file, 'utf8').split(' ');
    return pid === undefined || pid === '' ? undefined : { pid: Number(pid), start };
  } catch {
    return undefined; // it was given up between our open and our read
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const start = startOf(holder.pid);
  return start === undefined || holder.start === undefined || holder.start === 'unknown' || start === holder.start;
}

/** When a process started, in clock ticks since boot (field 22 of /proc/<pid>/stat); undefined where there is no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
