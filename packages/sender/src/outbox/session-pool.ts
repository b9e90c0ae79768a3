import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseTimeoutError, SenderClosedError } from './errors.js';
import type { Session } from './postgres-session.js';

/** Up to so many sessions, each used by one at a time. */
export interface SessionPool {
  /** Waits for a session, and gives it back when `work` has ended. @throws DatabaseTimeoutError if none was free in time. */
  use<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** What is under way has {@link drainMs} to end. */
  close(): Promise<void>;
}

const drainMs = 5_000;

interface Waiter {
  serve(session: Session): void;
  refuse(error: Error): void;
}

/**
 * @param parts.open - opens a session, which calls `onLost` at most once.
 * @param parts.waitMs - how long a caller waits while all sessions are in use.
 */
export function openSessionPool(parts: {
  open: (onLost: (error: unknown) => void) => Session;
  size: number;
  waitMs: number;
}): SessionPool {
  const { open, size, waitMs } = parts;
  const sessions = new Set<Session>();
  const idle: Session[] = []; // the last one used is taken first: what is prepared there, and warm, is used again
  const waiting = new Set<Waiter>();
  let isClosing = false;
  let drained: () => void = () => undefined;

  const add = (): Session => {
    const session = open((error) => {
      sessions.delete(session);
      if (idle.includes(session)) idle.splice(idle.indexOf(session), 1);
      // One connection that fell silent is seldom the only one: who takes one next shall not wait for as long again.
      if (error instanceof DatabaseTimeoutError) for (const other of [...idle]) other.giveUp(error);
      serveNext();
    });
    sessions.add(session);
    return session;
  };
  const free = (): Session | undefined => idle.pop() ?? (sessions.size < size ? add() : undefined);
  const serveNext = () => {
    const [next] = waiting;
    const session = next && free();
    if (session !== undefined) next?.serve(session);
    else if (sessions.size === 0) drained();
  };
  const wait = () =>
    new Promise<Session>((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        waiting.delete(waiter);
      };
      const waiter: Waiter = {
        serve: (session) => {
          leave();
          resolve(session);
        },
        refuse: (error) => {
          leave();
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        waiter.refuse(new DatabaseTimeoutError({ timeoutMs: waitMs, isBegun: false }));
      }, waitMs);
      waiting.add(waiter);
    });
  const end = (session: Session) => {
    sessions.delete(session);
    return session.end().catch(() => undefined);
  };
  const giveBack = (session: Session) => {
    if (!sessions.has(session)) return; // it was lost
    if (isClosing || performance.now() >= session.expiresAtMs) void end(session);
    else idle.push(session);
    serveNext();
  };
  return {
    async use(work) {
      const session = free() ?? (await wait());
      try {
        return await work(session);
      } finally {
        giveBack(session);
      }
    },
    async close() {
      isClosing = true;
      const ended = Promise.all(idle.splice(0).map(end));
      if (sessions.size > 0) {
        const allDrained = new Promise<void>((resolve) => (drained = resolve));
        await Promise.race([allDrained, sleep(drainMs, undefined, { ref: false })]);
      }
      for (const waiter of waiting) waiter.refuse(new SenderClosedError());
      for (const session of sessions) session.giveUp(new SenderClosedError());
      await ended;
    },
  };
}
