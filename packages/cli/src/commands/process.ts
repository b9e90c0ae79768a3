import type { PassSummary } from '@bestnotify/sender';
import { addCommand, connectionOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { exitCodes, signalCode } from '../exit-codes.js';
import { wholeNumber } from '../input/parse-options.js';

interface Options extends ConnectionOptions {
  limit: number;
  concurrency?: number;
  json?: boolean;
}

export const processDue = addCommand<Options>({
  name: 'process',
  summary: 'Send what is due in one pass, for cron',
  details:
    'Several passes may run at once, beside workers too: each notification is claimed by one of them. ' +
    'Exit codes: 0 all fine or nothing due, 1 error, 2 something was refused and is retried later, 3 something was given up.',
  examples: [
    ['process --limit 200', 'sends at most 200 notifications and ends'],
    ['process --json', 'prints {"claimed":…,"delivered":…,"retrying":…,"dead":…,"returned":…,"lost":…}'],
  ],
  options: (command) => {
    connectionOptions(command);
    command
      .option('--limit <count>', 'most notifications of this pass', wholeNumber(), 200)
      .option('--concurrency <count>', 'most requests at once (default: 64)', wholeNumber());
  },
  action: ({ terminal, interruption }, options) =>
    withSender(
      terminal.streams,
      options,
      async (sender) => {
        const firstErrors = new Set<string>();
        sender.on('error', ({ during, error }) => {
          const text = `${during}: ${error instanceof Error ? error.message : String(error)}`;
          if (firstErrors.size < 20 && !firstErrors.has(text)) terminal.note(text);
          firstErrors.add(text);
        });
        const { limit, concurrency } = options;
        const summary = await sender.runOnce({
          limit,
          signal: interruption.signal,
          ...(concurrency !== undefined && { concurrency }),
        });
        await (options.json === true ? terminal.json(summary) : terminal.print(describePass(summary)));
        return interruption.received === undefined ? codeOf(summary) : signalCode(interruption.received);
      },
      { alerts: true },
    ),
});

function codeOf({ retrying, dead, lost }: PassSummary): number {
  if (dead > 0) return exitCodes.dead;
  return retrying + lost > 0 ? exitCodes.refused : exitCodes.fine;
}

export function describePass({ claimed, delivered, retrying, dead, returned, lost }: PassSummary): string {
  if (claimed === 0) return 'Nothing was due.';
  const more = [returned > 0 ? `, ${returned} given back` : '', lost > 0 ? `, ${lost} claims lost` : ''].join('');
  return `${claimed} claimed: ${delivered} delivered, ${retrying} to be retried, ${dead} dead${more}.`;
}
