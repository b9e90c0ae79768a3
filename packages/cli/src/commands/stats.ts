import type { Stats } from '@bestnotify/sender';
import { setTimeout as pause } from 'node:timers/promises';
import { addCommand, connectionOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { positiveNumber } from '../input/parse-options.js';
import { renderFacts } from '../output/table.js';
import type { Terminal } from '../output/terminal.js';

interface Options extends ConnectionOptions {
  watch?: boolean;
  every: number;
  json?: boolean;
}

export const stats = addCommand<Options>({
  name: 'stats',
  summary: 'Show how the outbox is doing',
  details: 'Counts stop at 10,000, so that asking costs the same on a bad day.',
  examples: [
    ['stats', 'what is due, under way, dead, held and parked'],
    ['stats --watch --every 5', 'again every 5 seconds until Ctrl-C'],
  ],
  options: (command) => {
    connectionOptions(command);
    command
      .option('--watch', 'go on until interrupted')
      .option('--every <seconds>', 'how often, with --watch', positiveNumber, 2);
  },
  action: ({ terminal, interruption }, options) =>
    withSender(terminal.streams, options, async (sender) => {
      const signal = options.watch === true ? interruption.signal : undefined;
      for (;;) {
        const now = await sender.operations.stats();
        if (options.json === true) await terminal.json(now);
        else await terminal.print(renderStats(terminal, now));
        if (signal === undefined || terminal.isClosed) return;
        await pause(options.every * 1000, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) return;
        if (options.json !== true) await terminal.print('');
      }
    }),
});

const countLimit = 10_000;

function renderStats(terminal: Terminal, now: Stats): string {
  const count = (value: number) => (value >= countLimit ? `${countLimit} or more` : value);
  return renderFacts(terminal, [
    ['due', count(now.due)],
    ['oldest due for', now.due === 0 ? null : `${(now.oldestDueMs / 1000).toFixed(1)} s`],
    ['being sent', count(now.inFlight)],
    ['dead', count(now.dead)],
    ['died in 24 h', count(now.diedSince)],
    ['endpoints held', count(now.heldEndpoints)],
    ['endpoints parked', count(now.parkedEndpoints)],
  ]);
}
