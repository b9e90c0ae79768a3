import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';

/** A loopback port that nobody listens on now. Redis Cluster adds 10,000 for its bus, hence the limit. */
export async function freePort() {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    if (port <= 55_535) return port;
  }
}

/**
 * Starts a server and waits for the line that says it is ready.
 *
 * @throws an error with the end of its log, when it ends or `deadlineMs` passes before that line.
 */
export async function startServer(command, args, { ready, deadlineMs = 30_000, stopSignals, ...spawnOptions }) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...spawnOptions });
  const exited = new Promise((resolve) => child.once('close', resolve).once('error', resolve));
  let log = '';
  const isReady = new Promise((resolve) => {
    const listen = (chunk) => {
      log = (log + chunk).slice(-4_000);
      if (ready.test(log)) resolve(true);
    };
    child.stdout.on('data', listen);
    child.stderr.on('data', listen);
  });
  const stop = () => endProcess(child, exited, stopSignals);
  const timer = new Promise((resolve) => setTimeout(resolve, deadlineMs).unref());
  if (await Promise.race([isReady, exited.then(() => false), timer.then(() => false)])) return { child, stop };
  await stop();
  throw new Error(`${command} did not start:\n${log.trim()}`);
}

/** Ends a process with the first signal that works; each has 5 s. */
async function endProcess(child, exited, signals) {
  for (const signal of [...signals, 'SIGKILL']) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) break;
    child.kill(signal);
    let timer;
    await Promise.race([exited, new Promise((resolve) => (timer = setTimeout(resolve, 5_000)))]);
    clearTimeout(timer);
  }
}
