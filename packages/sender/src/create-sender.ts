import { systemClock } from '@bestnotify/protocol';
import type { ContactChannel } from './alerts/alert-channel.js';
import { channelAcks } from './alerts/channel-acks.js';
import { withoutAlertSecrets } from './alerts/channel-vault.js';
import { openAlerts } from './alerts/open-alerts.js';
import { refuseAlertSource } from './alerts/reserved-source.js';
import type { Enqueued } from './enqueue/enqueue.js';
import { createTransactions, type TransactionalClient } from './enqueue/host-transactions.js';
import { notifyMany, type NotificationInput, type NotifyContext, type NotifyOptions } from './enqueue/notify.js';
import { createHooks, type EventName, type Hooks, type Listener } from './hooks.js';
import { resolveWorkerOptions, type ResolvedWorkerOptions, type WorkerOptions } from './options.js';
import {
  getEndpoint,
  listEndpoints,
  putEndpoint,
  removeEndpoint,
  type Endpoint,
  type EndpointInput,
} from './outbox/endpoints.js';
import { columnsOf } from './outbox/endpoint-columns.js';
import { SchemaMissingError, SenderClosedError } from './outbox/errors.js';
import { createFingerprinter } from './outbox/fingerprint.js';
import { migrate, printMigrations, type MigrateOptions } from './outbox/migrate.js';
import { openDatabase } from './outbox/open-database.js';
import { isPostgresUrl, openListener } from './outbox/open-postgres.js';
import type { Database } from './outbox/database.js';
import { createOperations, type Operations } from './outbox/operations/index.js';
import { untilClosed } from './outbox/until-closed.js';
import { createVault } from './outbox/vault.js';
import { parseAllowedNetworks, parseNetworks } from './rules/addresses.js';
import type { UrlRules } from './rules/urls.js';
import { resolvePolicy } from './rules/policies.js';
import { abandonedTypes, checkSenderOptions, type SenderOptions } from './sender-options.js';
import { ResidentWorkers } from './pipeline/resident-workers.js';
import { logEvents } from './telemetry/log-events.js';
import { meterSender } from './telemetry/open-telemetry.js';
import { createWakeUp, type WakeUp } from './pipeline/wake-up.js';
import { runOnce, type Worker } from './worker.js';
import { createDeliverer, delivererDefaults } from './worker/deliver.js';
import type { PassSummary, WorkerParts } from './pipeline/pipeline.js';

/** The platform's side: an outbox, and workers that empty it. */
export interface Sender {
  readonly source: string;
  /** Creates or upgrades the tables; returns the versions it applied. Safe to call at every start, from every process. */
  migrate(options?: MigrateOptions): Promise<number[]>;
  /** The same as SQL, for those who apply it with a tool of their own. */
  printMigrations(): string;
  readonly endpoints: {
    /** @param endpoint.contact - where the merchant's own people are told; left out it stays, null takes it away. */
    put(endpoint: EndpointInput & { contact?: ContactChannel | null }): Promise<Endpoint>;
    get(id: string): Promise<Endpoint | undefined>;
    list(page?: { after?: string; limit?: number; ids?: readonly string[] }): Promise<Endpoint[]>;
    remove(id: string): Promise<boolean>;
  };
  /**
   * Adds a notification to the outbox, inside the caller's transaction when one is given: nothing is sent unless that commits.
   *
   * The same event with the same bytes again changes nothing and says `created: false`.
   *
   * @throws NotificationRefusedError, BodyTooLargeError, UnknownEndpointError, PayloadConflictError; nothing is written then.
   */
  notify(notification: NotificationInput, options?: NotifyOptions): Promise<Enqueued>;
  /** Several at once, all or nothing. */
  notifyMany(notifications: readonly NotificationInput[], options?: NotifyOptions): Promise<Enqueued[]>;
  /**
   * Runs `work` in a transaction of the host's own client (drizzle, or postgres.js) and wakes the workers right after it commits.
   *
   * A transaction begun in any other way is as good; its notifications are found by the next poll, or after `nudge()`. Inside
   * `work`, `notify` without `{ tx }` is refused: it would be written outside of the transaction.
   *
   * @throws ConfigurationError if `client` cannot begin a transaction, as a client or a pool of `pg` cannot.
   */
  transaction<Tx, T>(client: TransactionalClient<Tx>, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Something was committed: workers look at the outbox now instead of at their next poll. */
  nudge(): void;
  /** Starts a resident worker in this process. The library installs no signal handlers: call `stop()` from yours. */
  startWorker(options?: WorkerOptions): Worker;
  /** One pass, for cron: sends what is due, at most `limit` notifications, and resolves when all of it is settled. */
  runOnce(options?: WorkerOptions & { limit?: number; signal?: AbortSignal }): Promise<PassSummary>;
  readonly operations: Operations;
  /** Requests in flight now, of all its resident workers. */
  readonly inFlight: number;
  on<Name extends EventName>(name: Name, listener: Listener<Name>): Sender;
  off<Name extends EventName>(name: Name, listener: Listener<Name>): Sender;
  /**
   * Stops this sender's workers and closes the connections it opened itself. What needs them later is refused with
   * SenderClosedError; a second call is harmless.
   */
  close(): Promise<void>;
}

/**
 * Creates a sender. Nothing connects before the first call that needs the database.
 *
 * @throws ConfigurationError for options that cannot work.
 */
export function createSender(options: SenderOptions): Sender {
  const checked = checkSenderOptions(options);
  const { source, schema, policies } = checked;
  const database = untilClosed(namingMissingTables(openDatabase(options.database, checked.postgres), schema));
  const hooks = createHooks();
  const vault = withoutAlertSecrets(
    createVault(checked.secretStorage, (message) => process.emitWarning(message, { code: 'BESTNOTIFY_PLAIN_SECRETS' })),
  );
  const defaultPolicy = resolvePolicy(checked.policy, policies).text;
  const random = Math.random; // the outermost composition: everything below is given its dice
  const nudge = () => residents.nudge();
  const endpoints: NotifyContext = {
    database,
    schema,
    source,
    defaults: checked.endpointDefaults,
    policies,
    acks: Object.keys(checked.acks),
    fingerprint: createFingerprinter(schema),
    vault,
    urlRules: urlRulesOf(checked),
    types: checked.types,
    nowMs: () => systemClock().getTime(),
    onWritten: nudge,
  };
  columnsOf(endpoints, { id: 'any', ...checked.endpointDefaults }); // what every endpoint gets must work
  const openDeliverer = (workerOptions: ResolvedWorkerOptions) =>
    createDeliverer({
      requestTimeoutMs: workerOptions.requestTimeoutMs,
      connectTimeoutMs: workerOptions.connectTimeoutMs,
      allowPrivateNetwork: checked.allowPrivateNetwork,
      denyNetwork: checked.denyNetwork,
      allowedPorts: checked.allowedPorts,
      // Many endpoints may share one host: a request that waited for a connection of ours would look like a dead one.
      maxConnectionsPerOrigin: Math.max(delivererDefaults.maxConnectionsPerOrigin, workerOptions.concurrency),
    });
  const alerts = openAlerts(options.alerts, {
    ...{ endpoints, policies, hooks, random, onWritten: nudge, nowMs: endpoints.nowMs },
    abandoned: abandonedTypes(checked.types),
    openDeliverer: () => openDeliverer(resolveWorkerOptions()),
  });
  const partsFor = (given: WorkerOptions = {}): WorkerParts => {
    const workerOptions = resolveWorkerOptions(given);
    return {
      database,
      schema,
      options: workerOptions,
      hooks,
      vault,
      deliverer: alerts.over(openDeliverer(workerOptions), workerOptions.requestTimeoutMs),
      acks: { ...checked.acks, ...channelAcks },
      defaultPolicy,
      now: () => performance.now(),
      random,
    };
  };
  const residents = new ResidentWorkers({
    partsFor,
    alerts: alerts.watch,
    maintenance: { database, schema, source, hooks, defaultPolicy, random, retention: checked.retention },
    wakeUp: openWakeUp({ url: options.database ?? process.env['DATABASE_URL'], database, hooks, ...checked }),
  });
  const transactions = createTransactions(nudge);
  let isClosed = false;
  const sender: Sender = {
    source,
    migrate: (migrateOptions) => migrate(database, schema, migrateOptions),
    printMigrations: () => printMigrations(schema),
    endpoints: {
      put: async (endpoint) => {
        refuseAlertSource(source);
        return alerts.withContact(endpoint, () => putEndpoint(endpoints, endpoint));
      },
      get: (id) => getEndpoint(endpoints, id),
      list: (page) => listEndpoints(endpoints, page),
      remove: async (id) => {
        const isRemoved = await removeEndpoint(endpoints, id);
        await alerts.removeContact(id);
        return isRemoved;
      },
    },
    notify: async (notification, notifyOptions) => {
      const [result] = await sender.notifyMany([notification], notifyOptions);
      if (result === undefined) throw new Error('notifyMany of one gave none');
      return result;
    },
    notifyMany: async (notifications, notifyOptions) => {
      refuseAlertSource(source);
      if (notifyOptions?.tx === undefined) transactions.refuseIfOpen();
      return notifyMany(endpoints, notifications, notifyOptions);
    },
    transaction: transactions.run,
    nudge,
    startWorker: (workerOptions) => {
      if (isClosed) throw new SenderClosedError();
      meter();
      return residents.start(workerOptions);
    },
    runOnce: async ({ limit, signal, ...workerOptions } = {}) => {
      meter();
      const parts = partsFor(workerOptions);
      try {
        const summary = await runOnce(parts, { ...(limit !== undefined && { limit }), ...(signal && { signal }) });
        await alerts.watch?.lookOnce().catch((error: unknown) => hooks.emit('error', { during: 'alerts', error }));
        return summary;
      } finally {
        await parts.deliverer.close();
      }
    },
    operations: createOperations({ database, schema, source, onDue: nudge }, endpoints),
    get inFlight() {
      return residents.inFlight;
    },
    on: (name, listener) => {
      hooks.on(name, listener);
      return sender;
    },
    off: (name, listener) => {
      hooks.off(name, listener);
      return sender;
    },
    close: async () => {
      isClosed = true;
      await residents.stop();
      endMetering?.();
      await database.close();
    },
  };
  // Not before there is something to count: a process may register its meters after it has made its sender.
  let endMetering: (() => void) | undefined;
  const meter = () => (endMetering ??= meterSender(sender));
  if (options.logger !== undefined) logEvents(sender, options.logger, () => performance.now());
  return sender;
}

/** The same rules as when sending, so that a mistake is seen when it is made. */
function urlRulesOf(options: {
  allowPrivateNetwork: readonly string[];
  denyNetwork: readonly string[];
  allowedPorts: NonNullable<UrlRules['allowedPorts']>;
}): NotifyContext['urlRules'] {
  const senderAllows = parseAllowedNetworks(options.allowPrivateNetwork, 'allowPrivateNetwork');
  const denies = parseNetworks(options.denyNetwork, 'denyNetwork');
  return (endpointAllows) => ({
    allowedPorts: options.allowedPorts,
    addresses: { senderAllows, endpointAllows: parseNetworks(endpointAllows, 'allowPrivateNetwork'), denies },
  });
}

function openWakeUp(parts: {
  url: unknown;
  database: Database;
  schema: string;
  hooks: Hooks;
  wakeUp: 'poll' | 'notify';
}): WakeUp | undefined {
  const { url, database, schema, hooks, wakeUp } = parts;
  if (wakeUp === 'poll' || !isPostgresUrl(url)) return undefined;
  return createWakeUp({
    connect: () => openListener(url),
    database,
    channel: `bestnotify_${schema}`,
    onError: (error) => hooks.emit('error', { during: 'wake-up', error }),
  });
}

/** The first thing a newcomer forgets is to migrate: "relation does not exist" becomes an error that says so. */
function namingMissingTables(database: Database, schema: string): Database {
  const named = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
      // 42P01 undefined_table, 3F000 invalid_schema_name
      throw code === '42P01' || code === '3F000' ? new SchemaMissingError({ schema, cause: error }) : error;
    }
  };
  return {
    ...database,
    query: (text, parameters) => named(database.query(text, parameters)),
    transaction: (work) => named(database.transaction(work)),
  };
}
