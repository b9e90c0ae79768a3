import type postgres from 'postgres';
import type { Database } from '../outbox/database.js';

/** Tells workers in other processes that something is due, and hears of it. Polling stays the truth. */
export interface WakeUp {
  /** Something was committed: tell the others, at most once per {@link debounceMs}. */
  announce(): void;
  /** Starts to listen; `onDue` is also called after every reconnect, for what was missed. */
  listen(onDue: () => void): void;
  close(): Promise<void>;
}

/** NOTIFY makes commits wait for each other: one for many notifications is enough. */
const debounceMs = 20;
/** How often the listening connection is asked for a sign of life, and how long it may take. */
const heartbeatEveryMs = 10_000;
const heartbeatTimeoutMs = 5_000;

/**
 * LISTEN and NOTIFY over a connection of its own.
 *
 * A connection that silently died is found by a notice to ourselves that does not come back; then a new one is made.
 * Behind a pooler in transaction mode LISTEN hears nothing, which the heartbeat finds too: polling goes on as before.
 */
export function createWakeUp(parts: {
  connect: () => ReturnType<typeof postgres>;
  database: Database;
  channel: string;
  onError: (error: unknown) => void;
}): WakeUp {
  const { connect, database, channel, onError } = parts;
  let client: ReturnType<typeof postgres> | undefined;
  let announcing: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let heardAt = 0;
  let isClosed = false;
  const notify = (payload: string) =>
    database.query('select pg_notify($1, $2)', [channel, payload]).then(() => undefined, onError);

  const open = async (onDue: () => void) => {
    client = connect();
    const hear = (payload: string) => {
      heardAt = performance.now();
      if (payload !== 'heartbeat') onDue();
    };
    // The second function runs after each successful (re)connect: something may have been missed meanwhile.
    await client.listen(channel, hear, onDue);
  };
  const beat = async (onDue: () => void) => {
    const askedAt = performance.now();
    await notify('heartbeat');
    await new Promise((resolve) => setTimeout(resolve, heartbeatTimeoutMs).unref());
    if (isClosed || heardAt >= askedAt) return;
    onError(new Error(`the connection that listens on ${channel} is silent; it is made anew, and polling goes on`));
    const silent = client;
    void silent?.end({ timeout: 1 }).catch(() => undefined); // it is dead: its own error says nothing new
    await open(onDue);
  };
  return {
    announce() {
      if (isClosed) return;
      announcing ??= setTimeout(() => {
        announcing = undefined;
        void notify('due');
      }, debounceMs).unref();
    },
    listen(onDue) {
      if (heartbeat !== undefined) return;
      open(onDue).catch(onError);
      heartbeat = setInterval(() => void beat(onDue).catch(onError), heartbeatEveryMs).unref();
    },
    async close() {
      isClosed = true;
      clearTimeout(announcing);
      clearInterval(heartbeat);
      await client?.end({ timeout: 1 });
    },
  };
}
