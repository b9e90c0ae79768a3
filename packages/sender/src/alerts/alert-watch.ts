import type { Hooks } from '../hooks.js';
import type { Deliverer } from '../worker/deliver.js';
import { beat } from './alert-heartbeat.js';
import { HeardEvents } from './heard-events.js';
import { look, storeChannels, type LookParts } from './look.js';

/** What watching needs. */
export interface WatchParts extends LookParts {
  hooks: Hooks;
  /** For the heartbeat alone; made when a worker starts. */
  openDeliverer: () => Deliverer;
  /** Alerts were enqueued. */
  onWritten: () => void;
  /** Uniform in [0, 1). */
  random: () => number;
}

/** Events that come together are told together. */
const gatherMs = 500;

/** Looks for what operators should hear of, beside a worker or after a pass. */
export interface AlertWatch {
  /** Looks now, once. */
  lookOnce(): Promise<void>;
  /** Looks again and again. @returns a function that looks a last time and stops. */
  start(): () => Promise<void>;
}

/** @param parts.hooks - heard from now on, also outside of a worker. */
export function createAlertWatch(parts: WatchParts): AlertWatch {
  const { hooks, endpoints, options, nowMs, onWritten } = parts;
  let wake: (() => void) | undefined;
  const heard = new HeardEvents(hooks, { source: endpoints.source, nowMs, onNews: () => wake?.() });
  let areStored = false;

  const lookOnce = async (): Promise<void> => {
    if (!areStored) {
      await endpoints.database.transaction((tx) => storeChannels(tx, parts));
      areStored = true;
    }
    const events = heard.take();
    try {
      const told = await look(parts, events);
      if (told === undefined) heard.putBack(events);
      else if (told > 0) onWritten();
    } catch (error) {
      heard.putBack(events);
      throw error;
    }
  };

  return {
    lookOnce,
    start: () => {
      const abort = new AbortController();
      const loops = [watch(abort.signal)];
      if (options.heartbeat !== undefined) loops.push(keepBeating(options.heartbeat, abort.signal));
      return async () => {
        abort.abort();
        await Promise.all(loops);
      };
    },
  };

  async function watch(signal: AbortSignal): Promise<void> {
    const pause = createPause(signal);
    wake = () => pause.endIn(gatherMs);
    const hasLooked = async (): Promise<boolean> => {
      try {
        await lookOnce();
        return true;
      } catch (error) {
        hooks.emit('error', { during: 'alerts', error });
        return false;
      }
    };
    let isReadable = true;
    while (!signal.aborted) {
      isReadable = await hasLooked();
      // What another process kept us from writing down is tried again soon; workers do not look in step.
      await pause.sleep(heard.isEmpty ? options.checkEveryMs * (0.9 + 0.2 * parts.random()) : gatherMs);
    }
    wake = undefined;
    if (isReadable) await hasLooked(); // what died while the worker stopped; not while the database is away
  }

  async function keepBeating(heartbeat: NonNullable<typeof options.heartbeat>, signal: AbortSignal): Promise<void> {
    const deliverer = parts.openDeliverer();
    const pause = createPause(signal);
    const { database, schema } = endpoints;
    while (!signal.aborted) {
      await beat({ database, schema, hooks, deliverer, heartbeat }, signal).catch((error: unknown) =>
        hooks.emit('error', { during: 'heartbeat', error }),
      );
      await pause.sleep(heartbeat.everyMs);
    }
    await deliverer.close();
  }
}

/** A sleep that ends early when it is told to, or when the signal aborts. */
function createPause(signal: AbortSignal) {
  let end: (() => void) | undefined;
  let isWoken = false;
  let waker: NodeJS.Timeout | undefined;
  signal.addEventListener('abort', () => end?.(), { once: true });
  return {
    sleep: (ms: number) =>
      new Promise<void>((resolve) => {
        if (isWoken || signal.aborted) {
          isWoken = false;
          resolve();
          return;
        }
        const timer = setTimeout(() => end?.(), ms);
        end = () => {
          end = undefined;
          clearTimeout(timer);
          resolve();
        };
      }),
    endIn: (ms: number) => {
      waker ??= setTimeout(() => {
        waker = undefined;
        if (end === undefined) isWoken = true;
        else end();
      }, ms);
      waker.unref();
    },
  };
}
