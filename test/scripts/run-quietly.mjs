import { startCommand } from './interrupt.mjs';

/**
 * Runs a command and shows nothing of it unless it fails; then the error's message is all it printed, and the next step.
 *
 * @returns what it printed.
 */
export async function runQuietly(command, args, { env = {}, nextStep, ...options } = {}) {
  const { child, ended } = startCommand(command, args, {
    ...options,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  child.stderr.on('data', (chunk) => chunks.push(chunk));
  const failure = await ended;
  const output = Buffer.concat(chunks).toString().trim();
  if (failure === undefined) return output;
  const lines = [output, `\`${[command, ...args].join(' ')}\` failed: ${failure}.`, nextStep];
  throw new Error(lines.filter(Boolean).join('\n'));
}
