import type { NotificationSummary, Sender } from '@bestnotify/sender';
import { addCommand, connectionOptions, type Cli } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { filterOf, filterOptions, type FilterOptions } from '../input/filter-options.js';
import { wholeNumber } from '../input/parse-options.js';
import { renderTable } from '../output/table.js';
import type { Terminal } from '../output/terminal.js';

interface Options extends ConnectionOptions, FilterOptions {
  limit: number;
  all?: boolean;
  after?: string;
  json?: boolean;
}

export const list = (now: Cli['now']) =>
  addCommand<Options>({
    name: 'list',
    summary: 'List notifications, pending ones by when they are due, others newest first',
    examples: [
      ['list --state dead --since 24h', 'what was given up and was enqueued since yesterday'],
      ['list --search ORDER7', 'by business id or subject'],
      ['list --endpoint merchant-42 --all --json | jq -r .id', 'every one, a line of JSON each'],
    ],
    options: (command) => {
      connectionOptions(command);
      filterOptions(command, now);
      command
        .option('--limit <count>', 'most lines', wholeNumber(), 50)
        .option('--all', 'without a limit')
        .option('--after <place>', 'go on from the place that the run before named');
    },
    action: ({ terminal }, options) =>
      withSender(terminal.streams, options, async (sender) => {
        let count = 0;
        for await (const items of pages(sender, terminal, options)) {
          count += items.length;
          if (options.json === true) for (const item of items) await terminal.json(item);
          else if (items.length > 0) await terminal.print(renderNotifications(terminal, items));
        }
        if (count === 0) terminal.note('No notification matches.');
      }),
  });

async function* pages(
  sender: Sender,
  terminal: Terminal,
  options: Options,
): AsyncGenerator<NotificationSummary[], void> {
  const filter = filterOf(options);
  const chunk = 500; // a cursor belongs to its filter alone, so the size of a page may change
  let left = options.all === true ? Infinity : options.limit;
  let after = options.after;
  do {
    const page = await sender.operations.list({
      ...filter,
      limit: Math.min(chunk, left),
      ...(after !== undefined && { after }),
    });
    yield page.items;
    left -= page.items.length;
    after = page.next ?? undefined;
  } while (after !== undefined && left > 0 && !terminal.isClosed);
  if (after !== undefined && !terminal.isClosed) terminal.note(`There is more: --after ${after}`);
}

export function renderNotifications(terminal: Terminal, items: readonly NotificationSummary[]): string {
  return renderTable(
    terminal,
    ['ID', 'STATE', 'ENDPOINT', 'TYPE', 'BIZ ID', 'SUBJECT', 'ATTEMPTS', 'REASON', 'CREATED', 'DUE'],
    items.map((item) => [
      item.id,
      item.isClaimed ? `${item.state} (being sent)` : item.state,
      item.endpoint,
      item.type,
      item.bizId,
      item.subject,
      item.attempts,
      item.reason,
      item.createdAt,
      item.state === 'pending' ? item.dueAt : null,
    ]),
  );
}
