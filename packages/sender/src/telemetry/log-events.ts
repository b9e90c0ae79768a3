import { errorFacts, type Logger } from '@bestnotify/protocol';
import type { EventName, Listener, NotificationFacts, SenderEvents } from '../hooks.js';

type Level = 'debug' | 'info' | 'warn' | 'error';

/** How one event is logged. */
interface Line<Name extends EventName> {
  level: Level;
  /** For people; the facts stand beside it. */
  text: (event: SenderEvents[Name]) => string;
}

const about = ({ type, bizId, endpoint, id }: NotificationFacts) => `${type} ${bizId} to ${endpoint} (${id})`;
const seconds = (ms: number) => `${Math.round(ms / 1000)} s`;

/**
 * Every event and its level: `error` is for what somebody must look at, `warn` for what may become that, `debug` for each
 * notification's own story.
 */
const lines: { readonly [Name in Exclude<EventName, 'error'>]: Line<Name> } = {
  attempt: {
    level: 'debug',
    text: (it) => `attempt on ${about(it)}: ${it.outcome} ${it.status ?? ''} ${it.because}, ${it.durationMs} ms`,
  },
  delivered: { level: 'debug', text: (it) => `delivered ${about(it)}: ${it.reason}` },
  dead: { level: 'error', text: (it) => `DEAD ${about(it)}: ${it.reason} after ${it.attempts} attempts` },
  claimLost: { level: 'warn', text: (it) => `claim lost on ${about(it)}: it is sent again` },
  claimsLost: {
    level: 'error',
    text: (it) => `${about(it)} lost its claim ${it.lostClaims} times in a row: does it kill the workers?`,
  },
  refused: { level: 'warn', text: (it) => `REFUSED ${about(it)}: ${it.because} ${it.hint ?? ''}` },
  endpointParked: {
    level: 'warn',
    text: (it) => `endpoint ${it.endpoint} parked for ${seconds(it.forMs)} after ${it.failures} failures`,
  },
  endpointUnparked: { level: 'info', text: (it) => `endpoint ${it.endpoint} answers again` },
  endpointDisabled: {
    level: 'error',
    text: (it) => `endpoint ${it.endpoint} is gone (410) and held until it is resumed`,
  },
  suspended: {
    level: 'error',
    text: (it) =>
      `no endpoint of ${it.endpoints} can be reached: is this host's network down? resting ${seconds(it.forMs)}`,
  },
  resumed: { level: 'info', text: () => 'endpoints can be reached again' },
  pruned: {
    level: 'debug',
    text: (it) => `pruned ${it.notifications} notifications, ${it.attempts} attempts, ${it.keys} keys`,
  },
};

/** An error that comes again and again is logged once in this time, in ms. */
const repeatAfterMs = 30_000;
const maxRemembered = 1_000;

/**
 * Writes what a sender tells into the host's logger.
 *
 * @param nowMs - monotonic, in ms.
 */
export function logEvents(
  sender: { on<Name extends EventName>(name: Name, listener: Listener<Name>): unknown },
  host: Logger,
  nowMs: () => number,
): void {
  const logger = host.child?.({ component: '@bestnotify/sender' }) ?? host;
  for (const event of Object.keys(lines) as (keyof typeof lines)[]) {
    const { level, text }: { level: Level; text: (event: never) => string } = lines[event];
    sender.on(event, (facts) => {
      if (logger.isLevelEnabled?.(level) !== false) logger[level]({ event, ...facts }, text(facts as never));
    });
  }
  const isRepeat = rememberRepeats(nowMs);
  sender.on('error', ({ during, error }) => {
    const facts = errorFacts(error);
    const text = `${during}: ${facts.message}`;
    if (!isRepeat(text)) logger.error({ event: 'error', during, error: facts }, text);
  });
}

/** A database that is away fails every statement. */
function rememberRepeats(nowMs: () => number): (text: string) => boolean {
  const loggedAtMs = new Map<string, number>();
  return (text) => {
    const lastMs = loggedAtMs.get(text);
    if (lastMs !== undefined && nowMs() - lastMs < repeatAfterMs) return true;
    if (loggedAtMs.size >= maxRemembered) loggedAtMs.clear();
    loggedAtMs.set(text, nowMs());
    return false;
  };
}
