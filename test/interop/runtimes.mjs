import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import path from 'node:path';
import { holdPhpLocks } from './hold-php-locks.mjs';
import { requireProgram } from '../scripts/services/programs.mjs';
import { runQuietly } from '../scripts/run-quietly.mjs';

const receivers = fileURLToPath(new URL('../../examples/receivers/', import.meta.url));
export const phpSender = path.join(receivers, 'php', 'sender.php');
export const phpPlatform = path.join(receivers, 'php', 'platform.php');

const answers = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

/** PHP, from Debian when it is missing and can be installed without asking; else why there is none. */
export async function findPhp(progress) {
  try {
    const otherwise = 'Install php-cli to run its example.';
    return { php: await requireProgram({ names: ['php'], debianPackage: 'php-cli', otherwise, progress }) };
  } catch (error) {
    return { why: error.message.split('\n').at(-1) };
  }
}

/** Why this PHP cannot reach PostgreSQL; `undefined` when it can. */
export async function whyNoPostgresIn(php, progress) {
  const missing = () => spawnSync(php, ['-r', 'exit(extension_loaded("pdo_pgsql") ? 0 : 1);']).status !== 0;
  if (missing() && process.getuid?.() === 0 && existsSync('/etc/debian_version')) {
    progress("installing Debian's php-pgsql, because PHP has no pdo_pgsql…");
    const apt = ['-y', 'install', '--no-install-recommends', 'php-pgsql'];
    await runQuietly('apt-get', apt, { env: { DEBIAN_FRONTEND: 'noninteractive' } }).catch(() => undefined);
  }
  return missing() ? 'PHP has no pdo_pgsql; install php-pgsql' : undefined;
}

/** How each example receiver is started; a `why` in place of a command means that its runtime is missing. */
export async function findRuntimes({ php, why }, scratchDir) {
  const at = (...parts) => path.join(receivers, ...parts);
  return {
    node: { command: process.execPath, args: () => [at('node', 'receiver.mjs')] },
    python: answers('python3', '--version')
      ? { command: 'python3', args: () => ['-B', at('python', 'receiver.py')] }
      : { why: 'no python3' },
    java: answers('javac', '-version') // a runtime alone cannot start a source file
      ? { command: 'java', args: () => ['-XX:TieredStopAtLevel=1', at('java', 'Receiver.java')] }
      : { why: 'no JDK' },
    php: php
      ? {
          command: php,
          args: (port) => ['-S', `127.0.0.1:${port}`, at('php', 'receiver.php')],
          processes: 2,
          holdLocks: (directory) => holdPhpLocks(php, directory),
        }
      : { why },
    go: answers('go', 'version')
      ? await buildGo(at('go', 'receiver.go'), path.join(scratchDir, 'go-receiver'))
      : { why: 'no go' },
  };
}

async function buildGo(source, binary) {
  await runQuietly('go', ['build', '-o', binary, source], { cwd: path.dirname(source) });
  return { command: binary, args: () => [] };
}
