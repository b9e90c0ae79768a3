import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort, startServer } from './child.mjs';
import { requireProgram } from './programs.mjs';
import { unprivilegedUser } from './unprivileged.mjs';

/**
 * PgBouncer in transaction mode before a PostgreSQL: each transaction gets whichever server connection is free, and there
 * are fewer of those than clients.
 *
 * It refuses root, like PostgreSQL, and runs as another user then.
 *
 * @returns the URL to connect to, or why it cannot be had on this machine.
 */
export async function startPgBouncer({ databaseUrl, scratchDir, serverConnections, progress = () => {} }) {
  let program;
  try {
    program = await requireProgram({
      names: ['pgbouncer'],
      debianPackage: 'pgbouncer',
      otherwise: 'Install PgBouncer to run the tests that go through it.',
      progress,
    });
  } catch (error) {
    return { reason: error.message };
  }
  const user = unprivilegedUser();
  const dir = mkdtempSync(path.join(scratchDir, 'pgbouncer-'));
  const port = await freePort();
  const file = path.join(dir, 'pgbouncer.ini');
  writeFileSync(file, configuration(new URL(databaseUrl), port, serverConnections), { mode: 0o600 });
  chmodSync(dir, 0o700); // the file holds a password
  if (user) for (const each of [dir, file]) chownSync(each, user.uid, user.gid);
  const { stop } = await startServer(program, [file], {
    ...(user && { uid: user.uid, gid: user.gid }),
    cwd: dir,
    ready: /process up/,
    stopSignals: ['SIGINT'],
  });
  return {
    url: `postgres://anybody@127.0.0.1:${port}/pooled`,
    stop: async () => {
      await stop();
      rmSync(dir, { recursive: true });
    },
  };
}

function configuration({ hostname, port, pathname, username, password }, listenPort, serverConnections) {
  const server = [
    `host=${hostname} port=${port || 5432} dbname=${decodeURIComponent(pathname.slice(1))}`,
    `user=${decodeURIComponent(username)}${password === '' ? '' : ` password=${decodeURIComponent(password)}`}`,
  ];
  return `[databases]
pooled = ${server.join(' ')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${serverConnections}
max_client_conn = 200
`;
}
