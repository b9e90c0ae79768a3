import type { Endpoint, NotificationDetails, NotificationSummary, Sender } from '@bestnotify/sender';
import { addCommand, connectionOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { isNotificationId } from '../input/check-notification-id.js';
import { explain } from '../output/explain.js';
import { printable } from '../output/printable.js';
import { renderFacts, renderTable } from '../output/table.js';
import type { Terminal } from '../output/terminal.js';
import { detailsShape } from '../shapes.js';
import { renderNotifications } from './list.js';
import { UsageError } from '../errors.js';

interface Options extends ConnectionOptions {
  json?: boolean;
}

export const show = addCommand<Options>({
  name: 'show <id|bizId>',
  summary: 'Show one notification: where it stands and why, every attempt, and its body',
  details: 'Also finds it by its business id or subject. When several match, they are listed instead.',
  examples: [
    ['show PAY1', 'why does the merchant not know about payment PAY1?'],
    ['show ntf_019b7892-1c00-7fff-bfff-ffffffffffff --json | jq .attemptLog', 'its attempts, for a program'],
  ],
  options: connectionOptions,
  action: ({ terminal, now }, options, [wanted = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      const found = await find(sender, wanted);
      if (Array.isArray(found)) {
        if (options.json === true) for (const each of found) await terminal.json(each);
        else await terminal.print(renderNotifications(terminal, found));
        terminal.note(`${found.length} notifications match. Show one of them by its id.`);
      } else if (options.json === true) await terminal.json(detailsShape(found));
      else {
        const endpoint = await sender.endpoints.get(found.endpoint);
        await terminal.print(renderDetails(terminal, found, { endpoint, now: now() }));
      }
    }),
});

async function find(sender: Sender, wanted: string): Promise<NotificationDetails | NotificationSummary[]> {
  if (isNotificationId(wanted)) return sender.operations.show(wanted);
  const { items } = await sender.operations.list({ search: wanted });
  const [only] = items;
  if (only === undefined) {
    throw new UsageError({
      option: 'id',
      problem: `${JSON.stringify(wanted)} is neither the id of a notification nor the business id or subject of one`,
      fix: 'Check --source, or look with bestnotify list.',
    });
  }
  return items.length === 1 ? sender.operations.show(only.id) : items;
}

function renderDetails(
  terminal: Terminal,
  it: NotificationDetails,
  { endpoint, now }: { endpoint: Endpoint | undefined; now: Date },
): string {
  const { why, next } = explain(it, endpoint, now);
  const facts = renderFacts(terminal, [
    ['id', it.id],
    ['state', it.isClaimed ? `${it.state}, being sent right now` : it.state],
    ['why', why],
    ...(next === null ? [] : [['next', next] as const]),
    ['reason', it.reason],
    ['endpoint', it.endpoint],
    ['type', it.type],
    ['business id', it.bizId],
    ['subject', it.subject],
    ['url', it.url ?? `the endpoint's${endpoint?.url == null ? '' : `: ${endpoint.url}`}`],
    ['policy', it.policy ?? "the endpoint's or the sender's"],
    ['round', it.round],
    ['attempts', it.attempts],
    ['created', it.createdAt],
    [it.state === 'pending' ? 'due' : 'settled', it.state === 'pending' ? it.dueAt : it.settledAt],
  ]);
  const attempts = renderTable(
    terminal,
    ['ROUND', 'ATTEMPT', 'STARTED', 'MS', 'OUTCOME', 'STATUS', 'BECAUSE', 'HINT OR ERROR', 'REPLY'],
    it.attemptLog.map((each) => [
      each.round,
      each.ordinal ?? 'free',
      each.startedAt,
      each.durationMs,
      each.outcome,
      each.status,
      each.because,
      each.hint ?? each.error,
      each.snippet === null ? null : firstWords(each.snippet.toString()),
    ]),
  );
  const sent = it.sentBody ?? it.body; // what the merchant is sent, not how it is stored
  const body = sent === null ? 'The body was erased.' : sent.toString().split('\n').map(printable).join('\n');
  return [facts, '', it.attemptLog.length === 0 ? 'No attempt was made yet.' : attempts, '', body].join('\n');
}

function firstWords(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
