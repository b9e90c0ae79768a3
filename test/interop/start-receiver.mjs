import { endOnInterrupt } from '../scripts/interrupt.mjs';
import { freePort, startServer } from '../scripts/services/child.mjs';
import { source } from './signed-request.mjs';

/**
 * Starts an example receiver on free ports, in as many processes as its runtime asks for: they share what is done.
 *
 * @returns their URLs, and the lines that their handlers wrote.
 */
export async function startReceiver(runtime, facts) {
  const started = [];
  const stopAll = () => Promise.all(started.map((it) => it.stop()));
  const forget = endOnInterrupt(stopAll);
  const stop = () => stopAll().finally(forget);
  try {
    for (let at = 0; at < (runtime.processes ?? 1); at++) started.push(await startProcess(runtime, facts));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    urls: started.map(({ url }) => url),
    effects: () => started.flatMap(({ written }) => written().match(/^effect .*$/gm) ?? []),
    stop,
  };
}

async function startProcess(runtime, { to, secrets, directory }) {
  const port = await freePort();
  const { child, stop } = await startServer(runtime.command, runtime.args(port), {
    ready: /listening on|Development Server .* started/,
    stopSignals: ['SIGTERM'],
    deadlineMs: 60_000,
    env: {
      ...process.env,
      PORT: String(port),
      NOTIFY_SOURCE: source,
      NOTIFY_TO: to,
      NOTIFY_SECRETS: secrets.join(' '),
      NOTIFY_DIR: directory,
    },
  });
  let written = '';
  child.stdout.on('data', (chunk) => (written += chunk));
  return { url: `http://127.0.0.1:${port}/notify`, written: () => written, stop };
}
