import { pathToFileURL } from 'node:url';
import path from 'node:path';
import type { Sender, SenderOptions } from '@bestnotify/sender';
import { InputError, UsageError } from './errors.js';
import type { Streams } from './output/terminal.js';
import { alertsFromEnvironment } from './work/alerts-from-environment.js';

/** What every command that needs the outbox takes. */
export interface ConnectionOptions {
  database?: string;
  source?: string;
  schema?: string;
  config?: string;
  allowPrivateNetwork?: string[];
}

/** What a command adds by itself. `alerts` says that it may send some, so that the environment is asked for channels. */
type MoreOptions = Omit<Partial<SenderOptions>, 'alerts'> & { alerts?: true };

const closeTimeoutMs = 8_000;

/**
 * The sender's options: those of the configuration file, over them the environment's, over them the arguments'.
 *
 * @throws {@link UsageError} if nothing names the source.
 */
export async function senderOptions(
  { env }: Pick<Streams, 'env'>,
  given: ConnectionOptions,
): Promise<SenderOptions & { source: string }> {
  const file = given.config ?? (env['BESTNOTIFY_CONFIG'] || undefined);
  const configured = file === undefined ? {} : await readConfig(file);
  const networks =
    given.allowPrivateNetwork ?? env['BESTNOTIFY_ALLOW_PRIVATE_NETWORK']?.split(/[\s,]+/).filter(Boolean);
  const known = {
    database: given.database ?? configured.database ?? env['DATABASE_URL'],
    source: given.source ?? env['BESTNOTIFY_SOURCE'],
    schema: given.schema ?? env['BESTNOTIFY_SCHEMA'],
    allowPrivateNetwork: networks,
  };
  // An empty variable is how shells and compose files leave one out.
  const defined = Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined && value !== ''));
  const options: Partial<SenderOptions> = { ...configured, ...defined };
  const { source } = options;
  if (source === undefined) {
    throw new UsageError({
      option: '--source',
      problem: 'is missing',
      fix: 'Give it, or set BESTNOTIFY_SOURCE, for example to acme-pay.',
    });
  }
  return { ...options, source };
}

/** Opens a sender for one command and closes it after, whatever happens. */
export async function withSender<T>(
  streams: Pick<Streams, 'env'>,
  given: ConnectionOptions,
  work: (sender: Sender) => Promise<T>,
  more: MoreOptions = {},
): Promise<T> {
  const sender = await openSender(streams, given, more);
  try {
    return await work(sender);
  } finally {
    await closeSender(sender);
  }
}

export async function openSender(
  streams: Pick<Streams, 'env'>,
  given: ConnectionOptions,
  { alerts, ...more }: MoreOptions = {},
): Promise<Sender> {
  const options = await senderOptions(streams, given);
  const { createSender } = await import('@bestnotify/sender'); // late: help and completion need no database driver
  const asked = alerts === true ? alertsFromEnvironment(streams.env, options.alerts) : {};
  return createSender({ ...options, postgres: { maxConnections: 4, ...options.postgres }, ...more, ...asked });
}

/** Waits for the connections to close, but not for ever: a query that will never be answered counts as open. */
export async function closeSender(sender: Sender): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeTimeoutMs);
  });
  await Promise.race([sender.close().catch(() => undefined), patience]);
  clearTimeout(timer);
}

async function readConfig(file: string): Promise<Partial<SenderOptions>> {
  let module: { default?: unknown };
  try {
    module = (await import(pathToFileURL(path.resolve(file)).href)) as { default?: unknown };
  } catch (cause) {
    throw new InputError({ from: file, problem: `could not be loaded: ${(cause as Error).message}`, cause });
  }
  if (typeof module.default !== 'object' || module.default === null) {
    throw new InputError({ from: file, problem: 'has no default export with the options of createSender' });
  }
  return module.default;
}
