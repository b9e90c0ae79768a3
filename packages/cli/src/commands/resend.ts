import type { BulkProgress, Sender } from '@bestnotify/sender';
import { auditOf } from '../actor.js';
import { addCommand, auditOptions, connectionOptions, type Cli } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { UsageError } from '../errors.js';
import { exitCodes, signalCode } from '../exit-codes.js';
import { checkNotificationId } from '../input/check-notification-id.js';
import { filterOf, filterOptions, type FilterOptions } from '../input/filter-options.js';
import { positiveNumber } from '../input/parse-options.js';
import { createProgress } from '../output/progress.js';
import { renderTable } from '../output/table.js';

interface Options extends ConnectionOptions, FilterOptions {
  dryRun?: boolean;
  resume?: string;
  unfinished?: boolean;
  perSecond?: number;
  url?: string;
  acceptDuplicateEffect?: boolean;
  actor?: string;
  note?: string;
  json?: boolean;
}

export const resend = (now: Cli['now']) =>
  addCommand<Options>({
    name: 'resend [id]',
    summary: 'Send settled notifications again: one by its id, or all that match',
    details:
      'Same id, same bytes, a fresh round of attempts. Without an id those are taken whose state is dead now, unless --state ' +
      'says otherwise: one that failed and was delivered later is not among them. A run that was interrupted goes on with --resume.',
    examples: [
      ['resend ntf_019b7892-1c00-7fff-bfff-ffffffffffff', 'one notification'],
      ['resend --endpoint merchant-42 --since 24h --dry-run', 'how many would it be?'],
      ['resend --endpoint merchant-42 --since 24h --per-second 20', 'all of them, 20 a second'],
      ['resend --unfinished', 'which runs were interrupted, or are under way?'],
      ['resend --resume 3', 'goes on with run 3'],
    ],
    options: (command) => {
      connectionOptions(command);
      filterOptions(command, now);
      auditOptions(command);
      command
        .option('--dry-run', 'only say how many match')
        .option('--resume <run>', 'go on with an interrupted run; its filter and settings stay')
        .option('--unfinished', 'only list the runs that have not come to their end')
        .option('--per-second <count>', 'how many become due per second (default: 50)', positiveNumber)
        .option('--url <url>', 'a corrected URL, for a single notification')
        .option('--accept-duplicate-effect', 'also where the merchant may have handled it and forgotten that');
    },
    action: (cli, options, [id = '']) =>
      withSender(cli.terminal.streams, options, async (sender) => {
        checkTogether(options, id);
        if (options.unfinished === true) return listRuns(cli, sender, options);
        if (id === '') return resendMany(cli, sender, options);
        checkNotificationId(id, 'resend');
        return resendOne(cli, sender, { ...options, id });
      }),
  });

function checkTogether(options: Options, id: string): void {
  const hasFilter = Object.keys(filterOf(options)).length > 0;
  const ways = [id !== '', hasFilter, options.resume !== undefined, options.unfinished === true].filter(Boolean).length;
  if (ways !== 1) {
    throw new UsageError({
      option: 'id',
      problem: ways === 0 ? 'is missing' : 'cannot be mixed with other ways to choose',
      fix: 'Give one id, or a filter such as --endpoint, or --resume with the number of a run, which --unfinished lists.',
    });
  }
  const single = id !== '' && (options.dryRun === true || options.perSecond !== undefined);
  if (single)
    throw new UsageError({ option: '--dry-run', problem: 'and --per-second are for a filter, not for one id' });
  if (id === '' && options.url !== undefined)
    throw new UsageError({ option: '--url', problem: 'needs the id of one notification' });
}

async function resendOne({ terminal }: Cli, sender: Sender, options: Options & { id: string }): Promise<undefined> {
  const { id, url, acceptDuplicateEffect } = options;
  await sender.operations.resend(id, {
    ...auditOf(terminal.streams, options),
    ...(url !== undefined && { url }),
    ...(acceptDuplicateEffect !== undefined && { acceptDuplicateEffect }),
  });
  await (options.json === true
    ? terminal.json({ id, action: 'resend' })
    : terminal.print(`${id} is sent again by the next worker.`));
}

async function listRuns({ terminal }: Cli, sender: Sender, options: Options): Promise<undefined> {
  const runs = await sender.operations.bulkRuns();
  if (options.json === true) {
    for (const run of runs) await terminal.json(run);
    return;
  }
  const rows = runs.map(({ run, beganAt, actor, resent, skipped, matched, filter }) => [
    ...[run, beganAt, actor, resent, skipped, matched],
    JSON.stringify(filter),
  ]);
  const heading = ['RUN', 'BEGAN', 'ACTOR', 'RESENT', 'LEFT ALONE', 'MATCHED', 'FILTER'];
  if (rows.length > 0) await terminal.print(renderTable(terminal, heading, rows));
  else terminal.note('Every run has come to its end.');
}

async function resendMany({ terminal, interruption }: Cli, sender: Sender, options: Options): Promise<number> {
  const { resume, perSecond, acceptDuplicateEffect, dryRun = false } = options;
  const filter = resume === undefined ? { state: 'dead' as const, ...filterOf(options) } : {};
  const bar = createProgress(terminal);
  const { signal } = interruption;
  const progress = await sender.operations
    .resendMany(filter, {
      ...auditOf(terminal.streams, options),
      dryRun,
      signal,
      ...(resume !== undefined && { resume }),
      ...(perSecond !== undefined && { perSecond }),
      ...(acceptDuplicateEffect !== undefined && { acceptDuplicateEffect }),
      onProgress: ({ resent, skipped, matched, run }) =>
        // The count of what matched has a limit, and more may have been settled since.
        bar.update(resent + skipped, Math.max(matched, resent + skipped), `resent, run ${run ?? ''}`),
    })
    .finally(() => bar.end());
  await (options.json === true
    ? terminal.json({ dryRun, ...progress })
    : terminal.print(describeBulk(progress, dryRun)));
  if (progress.isFinished) return exitCodes.fine;
  terminal.note(`Interrupted. Go on with: bestnotify resend --resume ${progress.run ?? ''}`);
  return signalCode(interruption.received ?? 'SIGINT');
}

function describeBulk({ matched, resent, skipped, run }: BulkProgress, dryRun: boolean): string {
  if (dryRun) return `${matched} would be resent. Nothing was changed.`;
  const left = skipped === 0 ? '' : `, ${skipped} left alone (see --accept-duplicate-effect)`;
  return `Run ${run ?? ''}: ${resent} resent${left}.`;
}
