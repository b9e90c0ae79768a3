import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const enders = [];

/**
 * Runs a root command. An error becomes its message on stderr and exit code 1: the reader needs the next step, not the
 * stack. When the process is told to end, everything registered by {@link endOnInterrupt} ends first, the newest first.
 */
export async function main(command) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => void endAll(signal));
  try {
    await command();
  } catch (error) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}

/** @returns a function that forgets `end`, for when it has ended in another way. */
export function endOnInterrupt(end) {
  enders.push(end);
  return () => enders.splice(enders.indexOf(end), 1);
}

/**
 * Starts a command in a process group of its own, so that an interruption reaches it and all that it started, and reaches
 * them before the services they use.
 *
 * @returns the process, and how it will have ended: `undefined` for exit code 0, else a few words.
 */
export function startCommand(command, args, options) {
  const child = spawn(command, args, { ...options, detached: true });
  const ended = new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `exit code ${code ?? signal}`));
  });
  const forget = endOnInterrupt(async () => {
    killGroup(child, 'SIGTERM');
    const impatience = setTimeout(() => killGroup(child, 'SIGKILL'), 5_000);
    await ended;
    clearTimeout(impatience);
  });
  return { child, ended: ended.finally(forget) };
}

async function endAll(signal) {
  for (const end of [...enders].reverse()) await end();
  process.exit(128 + constants.signals[signal]);
}

function killGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // it has ended already, or never began
  }
}
