import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * Whom to run PostgreSQL as: it refuses root, and wants a user that the system knows by name.
 *
 * @returns nothing when this process is not root and can run it as itself.
 */
export function unprivilegedUser() {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .filter(([, , uid]) => Number(uid) > 0)
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
  const user = ['postgres', 'nobody'].map((name) => users.find((each) => each.name === name)).find(Boolean) ?? users[0];
  if (!user)
    throw new Error('PostgreSQL refuses to run as root, and no other user exists. Add one, or set DATABASE_URL.');
  return user;
}

/** Whether any user may walk through a folder and all that it lies in. */
export function isTraversableByAll(folder) {
  if ((statSync(folder).mode & 0o001) === 0) return false;
  return path.dirname(folder) === folder || isTraversableByAll(path.dirname(folder));
}
