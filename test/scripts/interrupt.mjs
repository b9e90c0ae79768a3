import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const enders = new Set();

/**
 * Runs a root command. An error becomes its message on stderr and exit code 1: the reader needs the next step, not the
 * stack. When the process is told to end, everything registered by {@link endOnInterrupt} ends first, the newest first.
 */
export async function main(command) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void endAll(signal));
  endWithNpm();
  try {
    await command();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

/** @returns a function that forgets `end`, for when it has ended in another way. */
export function endOnInterrupt(end) {
  enders.add(end);
  return () => enders.delete(end);
}

/**
 * Starts a command that ends when this one is interrupted, before the services that it uses.
 *
 * @returns the process, and how it will have ended: `undefined` for exit code 0, else a few words.
 */
export function startCommand(command, args, options) {
  const child = spawn(command, args, options);
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `exit code ${code ?? signal}`));
  });
  const forget = endOnInterrupt(async () => {
    child.kill('SIGTERM');
    const impatience = setTimeout(() => child.kill('SIGKILL'), 5_000);
    await ended;
    clearTimeout(impatience);
  });
  return { child, ended: ended.finally(forget) };
}

async function endAll(signal) {
  for (const end of [...enders].reverse()) await end();
  process.exit(128 + constants.signals[signal]);
}

/** npm does not pass on a signal that only it received; it just ends, and we would go on unseen. So that is a signal too. */
export function endWithNpm() {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, 1_000);
  watch.unref();
}
