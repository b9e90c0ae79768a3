// Makes a fresh clone ready to run: the right Node, the dependencies, the built packages. Every root command calls this
// first, so that nobody has to know which package manager the workspace uses. Imports only what Node brings.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { main } from './interrupt.mjs';
import { runQuietly } from './run-quietly.mjs';

/** The repository's top folder, without a trailing slash. */
export const root = path.resolve(fileURLToPath(new URL('../..', import.meta.url)));

const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
const oldestNode = manifest.engines.node.replace('>=', '');
// No questions, no telemetry, and no installing before every `pnpm exec`: whether that is needed is decided here.
const quiet = {
  CI: 'true',
  TURBO_TELEMETRY_DISABLED: '1',
  DO_NOT_TRACK: '1',
  PNPM_CONFIG_VERIFY_DEPS_BEFORE_RUN: 'false',
};
const stampFile = path.join(root, 'node_modules', '.bootstrap-stamp');

/**
 * Installs and builds what is missing or stale; says one line for each stage it needs, on stderr.
 *
 * Never asks: it runs as if in CI. On failure it prints the stage's whole output and the next step, and throws.
 */
export async function bootstrap() {
  refuseOldNode();
  const wanted = installStamp();
  if (!existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== wanted) {
    say('installing dependencies…');
    await runPnpm(['install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only'], {
      nextStep:
        'If package.json changed, update the lockfile and commit it. If the registry was not reached, check it with `npm ping` and run the command again.',
    });
    writeFileSync(stampFile, wanted);
  }
  say('building packages…');
  // turbo knows from its own cache what is stale; it finds the package manager on the PATH that `pnpm exec` sets.
  await runPnpm(['exec', 'turbo', 'run', 'build', '--output-logs=errors-only', '--no-update-notifier'], {
    nextStep: 'Mend the package named above; `npm run typecheck` shows all type errors at once.',
  });
}

/**
 * Runs pnpm in the version that package.json names, fetched by npx into npm's own cache: a pnpm on the PATH may be of
 * another version, or absent.
 *
 * @returns what it printed.
 */
export function runPnpm(args, { cwd = root, nextStep } = {}) {
  return runQuietly('npx', ['--yes', manifest.packageManager, ...args], {
    cwd,
    env: quiet,
    nextStep,
  });
}

function refuseOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = oldestNode.split('.').map(Number);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new Error(`This repository needs Node ${oldestNode} or newer; this is ${process.versions.node}.`);
}

/** What an installed tree depends on. Another platform's is stale too: a clone may lie in a folder that machines share. */
function installStamp() {
  const hash = createHash('sha256');
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests()]) {
    hash.update(readFileSync(path.join(root, file)));
  }
  return `${hash.digest('hex')} ${process.platform}-${process.arch}\n`;
}

function manifests() {
  const members = ['packages', 'examples'].flatMap((folder) =>
    readdirSync(path.join(root, folder)).map((name) => path.join(folder, name)),
  );
  return ['', 'test', ...members.sort()]
    .map((folder) => path.join(folder, 'package.json'))
    .filter((file) => existsSync(path.join(root, file)));
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(bootstrap);
