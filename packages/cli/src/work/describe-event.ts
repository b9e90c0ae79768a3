import type { Sender, SenderEvents } from '@bestnotify/sender';

/** One thing that happened in a worker, as its log keeps it. */
export interface LogLine {
  event: string;
  /** True for what is only logged with --verbose. */
  isRoutine: boolean;
  /** For people. */
  text: string;
  facts: object;
}

type Facts = SenderEvents['delivered'] | SenderEvents['dead'] | SenderEvents['claimLost'];

const about = ({ type, bizId, endpoint, id }: Facts | SenderEvents['attempt']) =>
  `${type} ${bizId} to ${endpoint} (${id})`;

/** Hears everything a worker says that its operator may want to know. */
export function hearEvents(sender: Sender, tell: (line: LogLine) => void): void {
  const hear = <Name extends keyof SenderEvents>(
    event: Name,
    textOf: (facts: SenderEvents[Name]) => string,
    isRoutine = false,
  ) =>
    sender.on(event, (facts) => {
      tell({ event, isRoutine, text: textOf(facts), facts });
    });
  hear(
    'attempt',
    (it) => `attempt on ${about(it)}: ${it.outcome} ${it.status ?? ''} ${it.because}, ${it.durationMs} ms`,
    true,
  );
  hear('delivered', (it) => `delivered ${about(it)}: ${it.reason}`, true);
  hear('dead', (it) => `DEAD ${about(it)}: ${it.reason} after ${it.attempts} attempts`);
  hear('claimLost', (it) => `claim lost on ${about(it)}: it is sent again`);
  hear('claimsLost', (it) => `${about(it)} lost its claim ${it.lostClaims} times in a row: does it kill the workers?`);
  hear('refused', (it) => `REFUSED ${about(it)}: ${it.because} ${it.hint ?? ''}`);
  hear(
    'endpointParked',
    (it) => `endpoint ${it.endpoint} parked for ${Math.round(it.forMs / 1000)} s after ${it.failures} failures`,
  );
  hear('endpointUnparked', (it) => `endpoint ${it.endpoint} answers again`);
  hear('endpointDisabled', (it) => `endpoint ${it.endpoint} is gone (410) and held until it is resumed`);
  hear(
    'suspended',
    (it) =>
      `no endpoint of ${it.endpoints} can be reached: is this host's network down? resting ${Math.round(it.forMs / 1000)} s`,
  );
  hear('resumed', () => 'endpoints can be reached again');
}
