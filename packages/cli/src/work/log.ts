import { printable } from '../output/printable.js';
import type { Terminal } from '../output/terminal.js';
import type { LogLine } from './describe-event.js';

/** The log of a resident process: a line of text, or of JSON, for each thing that happened. */
export interface Log {
  line(line: LogLine): void;
  /** For errors that come again and again: the same text is logged once in 30 s. */
  problem(during: string, error: unknown): void;
  say(event: string, text: string, facts?: object): void;
}

const repeatAfterMs = 30_000;

export function createLog(
  terminal: Terminal,
  { isJson, isVerbose, now }: { isJson: boolean; isVerbose: boolean; now: () => Date },
): Log {
  const lastLogged = new Map<string, number>();
  const write = ({ event, text, facts }: Omit<LogLine, 'isRoutine'>) => {
    const at = now().toISOString();
    void (isJson ? terminal.json({ at, event, ...facts }) : terminal.print(`${at} ${printable(text)}`));
  };
  return {
    line: (line) => {
      if (isVerbose || !line.isRoutine) write(line);
    },
    problem: (during, error) => {
      const message = error instanceof Error ? error.message : String(error);
      const text = `${during}: ${message}`;
      const atMs = now().getTime();
      if (atMs - (lastLogged.get(text) ?? -Infinity) < repeatAfterMs) return;
      if (lastLogged.size > 1000) lastLogged.clear();
      lastLogged.set(text, atMs);
      write({ event: 'error', text, facts: { during, message } });
    },
    say: (event, text, facts = {}) => write({ event, text, facts }),
  };
}
