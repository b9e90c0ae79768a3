import type { Logger } from '@bestnotify/sender';
import { printable } from '../output/printable.js';
import type { Terminal } from '../output/terminal.js';

/**
 * The log of a resident process: a line of text, or of JSON, for each thing that happened. The sender writes into it as into any
 * logger.
 */
export interface Log extends Logger {
  isLevelEnabled(level: string): boolean;
  /** News of the process itself. */
  say(event: string, text: string, facts?: object): void;
}

export function createLog(
  terminal: Pick<Terminal, 'json' | 'print'>,
  { isJson, isVerbose, now }: { isJson: boolean; isVerbose: boolean; now: () => Date },
): Log {
  const write = (level: string) => (facts: object, message: string) => {
    const at = now().toISOString();
    void (isJson ? terminal.json({ at, level, ...facts, message }) : terminal.print(`${at} ${printable(message)}`));
  };
  const info = write('info');
  return {
    debug: isVerbose ? write('debug') : () => undefined,
    info,
    warn: write('warn'),
    error: write('error'),
    isLevelEnabled: (level) => isVerbose || level !== 'debug',
    say: (event, text, facts = {}) => info({ event, ...facts }, text),
  };
}
