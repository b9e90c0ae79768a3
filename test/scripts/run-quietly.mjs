import { spawn } from 'node:child_process';

/**
 * Runs a command and shows nothing of it unless it fails; then the error's message is all it printed, and the next step.
 *
 * @returns what it printed.
 */
export async function runQuietly(command, args, { env = {}, nextStep, ...spawnOptions } = {}) {
  const child = spawn(command, args, {
    ...spawnOptions,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  child.stderr.on('data', (chunk) => chunks.push(chunk));
  const end = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? undefined : `exit code ${code ?? signal}`));
  });
  const output = Buffer.concat(chunks).toString().trim();
  if (end === undefined) return output;
  const lines = [output, `\`${[command, ...args].join(' ')}\` failed: ${end}.`, nextStep];
  throw new Error(lines.filter(Boolean).join('\n'));
}
