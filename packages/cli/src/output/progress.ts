import { Presets, SingleBar } from 'cli-progress';
import type { Terminal } from './terminal.js';

/** How far something is. It goes to stderr, so that results can be piped. */
export interface Progress {
  update(done: number, total: number, text: string): void;
  end(): void;
}

/** A bar on a terminal; elsewhere one line per step, which a log can keep. */
export function createProgress(terminal: Terminal): Progress {
  const { stderr } = terminal.streams;
  if (stderr.isTTY !== true) {
    return { update: (done, total, text) => terminal.note(`${done} of ${total} ${text}`), end: () => undefined };
  }
  const bar = new SingleBar(
    { format: '{bar} {percentage}% {value} of {total} {text}', stream: stderr, hideCursor: true },
    Presets.shades_classic,
  );
  let isStarted = false;
  return {
    update(done, total, text) {
      if (!isStarted) bar.start(total, 0, { text });
      isStarted = true;
      bar.setTotal(total);
      bar.update(done, { text });
    },
    end: () => bar.stop(),
  };
}
