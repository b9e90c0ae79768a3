import { addCommand, connectionOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { signalCode } from '../exit-codes.js';
import { wholeNumber } from '../input/parse-options.js';

interface Options extends ConnectionOptions {
  settledDays?: number;
  deadDays?: number;
  attemptsDays?: number;
  keysDays?: number;
  json?: boolean;
}

export const prune = addCommand<Options>({
  name: 'prune',
  summary: 'Remove what is older than it has to be kept; never what is pending',
  details: 'Resident workers do this by themselves. Safe to interrupt and to repeat.',
  examples: [
    ['prune', 'with the usual ages'],
    ['prune --settled-days 7 --dead-days 90', 'with ages of your own'],
  ],
  options: (command) => {
    connectionOptions(command);
    command
      .option('--settled-days <days>', 'keep what was delivered, cancelled or closed (default: 30)', wholeNumber(0))
      .option('--dead-days <days>', 'keep what is dead (default: 180)', wholeNumber(0))
      .option('--attempts-days <days>', 'keep attempts (default: 30)', wholeNumber(0))
      .option('--keys-days <days>', 'recognise events enqueued again (default: 400)', wholeNumber(0));
  },
  action: ({ terminal, interruption }, options) =>
    withSender(terminal.streams, options, async (sender) => {
      const { settledDays, deadDays, attemptsDays, keysDays } = options;
      const ages = Object.entries({ settledDays, deadDays, attemptsDays, keysDays });
      const removed = await sender.operations.prune({
        ...Object.fromEntries(ages.filter(([, days]) => days !== undefined)),
        signal: interruption.signal,
      });
      const { notifications, attempts, keys } = removed;
      await (options.json === true
        ? terminal.json(removed)
        : terminal.print(
            `Removed ${notifications} notifications, ${attempts} attempts apart from theirs, ${keys} keys.`,
          ));
      return interruption.received === undefined ? undefined : signalCode(interruption.received);
    }),
});
