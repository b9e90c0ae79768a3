import type { Interruption } from './command.js';
import { signalCode } from './exit-codes.js';

/** The part of `process` that is needed. */
interface Host {
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  off(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): void;
}

/**
 * Two stages: the first signal asks to stop, the second ends the process where it stands.
 *
 * Until a command asks for it, signals end the process as they always do.
 */
export function createInterruption(host: Host): Interruption & { dispose(): void } {
  const controller = new AbortController();
  const state: { received: Interruption['received'] } = { received: undefined };
  let isListening = false;
  const hear = (signal: 'SIGINT' | 'SIGTERM') => () => {
    if (state.received !== undefined) host.exit(signalCode(signal));
    state.received = signal;
    controller.abort();
  };
  const listeners = { SIGINT: hear('SIGINT'), SIGTERM: hear('SIGTERM') };
  return {
    get signal() {
      if (!isListening) for (const name of ['SIGINT', 'SIGTERM'] as const) host.on(name, listeners[name]);
      isListening = true;
      return controller.signal;
    },
    get received() {
      return state.received;
    },
    dispose() {
      for (const name of ['SIGINT', 'SIGTERM'] as const) host.off(name, listeners[name]);
    },
  };
}
