import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
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
  const mine = `${process.pid} ${startOf(process.pid) ?? 'unknown'}`;
  for (let round = 0; round < 2; round += 1) {
    try {
      const handle = openSync(file, 'wx'); // exclusive: exactly one process creates it
      writeSync(handle, mine);
      closeSync(handle);
      const release = () => rmSync(file, { force: true });
      process.once('exit', release);
      return () => {
        process.removeListener('exit', release);
        release();
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      const holder = readHolder(file);
      if (holder !== undefined && isAlive(holder)) {
        throw new DatabaseLockedError({
          directory,
          holder: holder.pid === process.pid ? 'this process already' : `process ${holder.pid}`,
        });
      }
      rmSync(file, { force: true });
    }
  }
  throw new DatabaseLockedError({ directory, holder: 'another process that is just starting' });
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
