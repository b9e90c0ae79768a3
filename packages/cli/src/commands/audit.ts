import type { AuditEntry } from '@bestnotify/sender';
import { addCommand, connectionOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { wholeNumber } from '../input/parse-options.js';
import { renderTable } from '../output/table.js';

interface Options extends ConnectionOptions {
  endpoint?: string;
  notification?: string;
  limit: number;
  json?: boolean;
}

export const audit = addCommand<Options>({
  name: 'audit',
  summary: 'List who did what, newest first',
  examples: [['audit --endpoint merchant-42', 'what was done to one endpoint and its notifications']],
  options: (command) => {
    connectionOptions(command);
    command
      .option('--endpoint <id>', 'about this endpoint')
      .option('--notification <id>', 'about this notification')
      .option('--limit <count>', 'most lines, up to 500', wholeNumber(), 50);
  },
  action: ({ terminal }, options) =>
    withSender(terminal.streams, options, async (sender) => {
      const { endpoint, notification, limit } = options;
      const { items } = await sender.operations.audit({
        limit,
        ...(endpoint !== undefined && { endpoint }),
        ...(notification !== undefined && { notification }),
      });
      if (options.json === true) for (const entry of items) await terminal.json(entry);
      else await terminal.print(renderTable(terminal, heading, items.map(lineOf)));
    }),
});

const heading = ['AT', 'ACTOR', 'ACTION', 'ENDPOINT', 'NOTIFICATION', 'NOTE', 'DETAILS'];

function lineOf({ at, actor, action, endpoint, notification, note, details }: AuditEntry) {
  return [at, actor, action, endpoint, notification, note, details];
}
