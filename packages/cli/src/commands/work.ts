import type { Sender, Worker, WorkerOptions } from '@bestnotify/sender';
import { once } from 'node:events';
import { addCommand, connectionOptions, type Cli } from '../command.js';
import { closeSender, openSender, type ConnectionOptions } from '../connect.js';
import { exitCodes } from '../exit-codes.js';
import { positiveNumber, wholeNumber } from '../input/parse-options.js';
import { startHealthServer } from '../work/health-server.js';
import { startHeartbeat } from '../work/heartbeat.js';
import { createLog, type Log } from '../work/log.js';
import { watchPauses } from '../work/watch-pauses.js';
import { describePass } from './process.js';

interface Options
  extends
    ConnectionOptions,
    Pick<WorkerOptions, 'concurrency' | 'leaseMs' | 'requestTimeoutMs' | 'maxInFlightPerEndpoint'> {
  graceMs: number;
  heartbeatSeconds: number;
  silentSeconds: number;
  healthPort?: number;
  healthHost: string;
  wakeUp?: 'poll' | 'notify';
  verbose?: boolean;
  json?: boolean;
}

/** After the grace, what is in flight is aborted and settled; that must not take for ever either. */
const settleMs = 15_000;

export const work = addCommand<Options>({
  name: 'work',
  summary: 'Send what becomes due until told to stop',
  details:
    'The first SIGTERM or SIGINT stops claiming, waits for what is in flight and ends with 0; the second ends at once, and what ' +
    'was in flight is sent again when its lease is over. While PostgreSQL refuses connections the worker waits and tries again; ' +
    'when it is silent for --silent-seconds, the worker ends with 1 so that its supervisor starts a fresh one.',
  examples: [
    ['work', 'a resident worker; run as many as you like, on as many hosts'],
    ['work --health-port 9464 --json', 'with /health and /metrics, and a log of JSON lines'],
  ],
  options: (command) => {
    connectionOptions(command);
    command
      .option('--concurrency <count>', 'most requests at once (default: 64)', wholeNumber())
      .option('--max-in-flight-per-endpoint <count>', 'most requests at once to one endpoint', wholeNumber())
      .option('--lease-ms <ms>', 'how long a claim lasts (default: 30000)', wholeNumber())
      .option('--request-timeout-ms <ms>', 'longest wait for a whole response (default: 10000)', wholeNumber())
      .option('--grace-ms <ms>', 'how long the first signal waits for what is in flight', wholeNumber(0), 15_000)
      .option('--heartbeat-seconds <seconds>', 'how often the database is asked', positiveNumber, 5)
      .option('--silent-seconds <seconds>', 'how long it may be silent', positiveNumber, 30)
      .option('--health-port <port>', 'serve /health and /metrics on this port', wholeNumber(0))
      .option('--health-host <address>', 'and on this address', '127.0.0.1')
      .option('--wake-up <how>', 'poll, or notify to hear of new notifications at once (default: poll)')
      .option('--verbose', 'log every attempt and delivery');
  },
  action: async (cli, options) => {
    const { terminal, now } = cli;
    const log = createLog(terminal, { isJson: options.json === true, isVerbose: options.verbose === true, now });
    const more = options.wakeUp === undefined ? {} : { wakeUp: options.wakeUp };
    const sender = await openSender(terminal.streams, options, {
      postgres: { maxConnections: 10 },
      alerts: true,
      logger: log,
      ...more,
    });
    try {
      return await run(cli, options, { sender, log });
    } finally {
      await closeSender(sender);
    }
  },
});

async function run(
  { interruption }: Cli,
  options: Options,
  { sender, log }: { sender: Sender; log: Log },
): Promise<number> {
  const nowMs = () => performance.now();
  await sender.operations.stats(); // a wrong URL or a missing schema is said at once, instead of being retried
  const { prometheusMetrics } = await import('@bestnotify/sender/prometheus');
  const metrics = prometheusMetrics(sender, { readStats: () => heartbeat.stats });
  const worker = sender.startWorker(workerOptions(options));
  const [everyMs, silentMs] = [options.heartbeatSeconds * 1000, options.silentSeconds * 1000];
  const heartbeat = startHeartbeat({ sender, log, nowMs, everyMs, silentMs });
  const stopWatching = watchPauses(log, nowMs);
  const source = {
    isHealthy: () => heartbeat.stats !== undefined,
    facts: () => ({ source: sender.source, inFlight: worker.inFlight, ...heartbeat.stats }),
    metrics: metrics.handler,
  };
  const { healthPort: port, healthHost: host } = options;
  const health = port === undefined ? undefined : await startHealthServer(source, { port, host });
  try {
    const where = health === undefined ? '' : `, health on http://${host}:${health.port}/health`;
    log.say('started', `working for ${sender.source}${where}`, { source: sender.source, healthPort: health?.port });
    await Promise.race([untilAborted(interruption.signal), heartbeat.failed]);
    log.say('stopping', `stopping: ${worker.inFlight} in flight; a second signal ends at once`, {
      inFlight: worker.inFlight,
    });
    return await stop(worker, log, options.graceMs);
  } finally {
    heartbeat.stop();
    stopWatching();
    await health?.close();
  }
}

function workerOptions({ concurrency, leaseMs, requestTimeoutMs, maxInFlightPerEndpoint }: Options): WorkerOptions {
  const all = { concurrency, leaseMs, requestTimeoutMs, maxInFlightPerEndpoint };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/** A verdict that cannot be written must not keep the process: its row is sent again when the lease is over. */
async function stop(worker: Worker, log: Log, graceMs: number): Promise<number> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), graceMs + settleMs);
  });
  const summary = await Promise.race([worker.stop({ graceMs }), patience]);
  clearTimeout(timer);
  if (summary === undefined) {
    log.say('forced', 'the worker did not stop in time and was cut off; nothing is lost');
    return exitCodes.forced;
  }
  log.say('stopped', `stopped. ${describePass(summary)}`, summary);
  return exitCodes.fine;
}
