import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { runQuietly } from '../run-quietly.mjs';

/**
 * Where a program of the system is, installing it first when it is missing and that can be done without asking: as root
 * on Debian.
 *
 * @throws an error that ends in `otherwise`, the next step for the reader.
 */
export async function requireProgram({ names, debianPackage, otherwise, progress }) {
  const found = findProgram(names);
  if (found) return found;
  if (process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    progress(`installing Debian's ${debianPackage}, because no ${names.join(' or ')} was found…`);
    await installFromDebian(debianPackage, names[0], otherwise);
    const installed = findProgram(names);
    if (installed) return installed;
  }
  throw new Error(`No ${names.join(' or ')} on this machine. ${otherwise}`);
}

function findProgram(names) {
  // nginx lives in an sbin, which a user's PATH often lacks.
  const folders = [...(process.env['PATH'] ?? '').split(path.delimiter), '/usr/sbin', '/usr/local/sbin'];
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isExecutable);
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function installFromDebian(name, service, otherwise) {
  const apt = (...args) =>
    runQuietly('apt-get', ['-y', ...args], { env: { DEBIAN_FRONTEND: 'noninteractive' }, nextStep: otherwise });
  const install = () => apt('install', '--no-install-recommends', name);
  await install().catch(() => apt('update').then(install)); // a fresh machine has no package lists yet
  // Debian starts a server that it installs; we asked for the program, not for a service on its usual port.
  await runQuietly('service', [service, 'stop']).catch(() => {});
}
