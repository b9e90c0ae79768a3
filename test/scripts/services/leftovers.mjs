import { readdirSync, readlinkSync } from 'node:fs';
import path from 'node:path';

/**
 * Kills whatever still works inside a folder that is about to be removed: a server that a test started there and, being
 * killed or timed out, could not end. Only Linux tells where a process works; elsewhere this does nothing.
 */
export function killLeftovers(folder) {
  for (const pid of processIds()) {
    try {
      const isInside = readlinkSync(`/proc/${pid}/cwd`).startsWith(folder + path.sep);
      if (isInside) process.kill(pid, 'SIGKILL');
    } catch {
      // it ended meanwhile, or belongs to another user
    }
  }
}

function processIds() {
  if (process.platform !== 'linux') return [];
  return readdirSync('/proc').map(Number).filter(Number.isInteger);
}
