import type { Hooks } from '../hooks.js';
import type { Database } from '../outbox/database.js';
import type { OperationContext } from '../outbox/operations/context.js';
import { prune, type Retention } from '../outbox/operations/retention.js';
import { sweepOverAge } from '../outbox/sweep.js';

/** What the upkeep beside a worker needs. */
export interface MaintenanceParts {
  database: Database;
  schema: string;
  source: string;
  hooks: Hooks;
  defaultPolicy: string;
  /** How long things are kept; false leaves pruning to somebody else. */
  retention: Retention | false;
  /** Uniform in [0, 1). */
  random: () => number;
}

const sweepEveryMs = 5 * 60_000;
const pruneEveryMs = 60 * 60_000;

/**
 * Runs the sweep and the retention beside a resident worker, each at its own pace and never twice at once in one process.
 *
 * Two processes that do it at the same time only share the work: every statement takes rows that the other has not.
 *
 * @returns a function that stops it and waits for the statement under way.
 */
export function startMaintenance(parts: MaintenanceParts): () => Promise<void> {
  const abort = new AbortController();
  const onError = (during: string) => (error: unknown) => parts.hooks.emit('error', { during, error });
  const loops = [
    every(sweepEveryMs, () => sweep(parts, abort.signal), {
      ...parts,
      signal: abort.signal,
      onError: onError('sweep'),
    }),
  ];
  const { retention } = parts;
  if (retention !== false) {
    const work = () => pruneOnce(parts, retention, abort.signal);
    loops.push(every(pruneEveryMs, work, { ...parts, signal: abort.signal, onError: onError('prune') }));
  }
  return async () => {
    abort.abort();
    await Promise.all(loops);
  };
}

async function sweep({ database, schema, defaultPolicy, hooks }: MaintenanceParts, signal: AbortSignal): Promise<void> {
  let after: string | null = '0';
  while (after !== null && !signal.aborted) {
    const { swept, next }: Awaited<ReturnType<typeof sweepOverAge>> = await sweepOverAge(database, {
      schema,
      defaultPolicy,
      after,
    });
    for (const notification of swept) hooks.emit('dead', notification);
    after = next;
  }
}

async function pruneOnce(parts: MaintenanceParts, retention: Retention, signal: AbortSignal): Promise<void> {
  const context: OperationContext = { ...parts, onDue: () => undefined };
  const onProgress = (removed: { notifications: number; attempts: number; keys: number }) =>
    parts.hooks.emit('pruned', removed);
  await prune(context, { ...retention, signal, onProgress });
}

async function every(
  ms: number,
  work: () => Promise<void>,
  { signal, random, onError }: { signal: AbortSignal; random: () => number; onError: (error: unknown) => void },
): Promise<void> {
  // Workers started together do not work in step.
  while (await slept(ms * (0.5 + random()), signal)) await work().catch(onError);
}

/** @returns false if the sleep was ended. */
function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve(false); // while the work was under way: the event has been
      return;
    }
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve(!signal.aborted);
    };
    const timer = setTimeout(end, ms);
    timer.unref();
    signal.addEventListener('abort', end);
  });
}
