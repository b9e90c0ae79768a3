import type { NotificationFilter, NotificationState } from '@bestnotify/sender';
import { Option, type Command } from 'commander';
import { moment } from './parse-options.js';

/** Which notifications, as options. */
export interface FilterOptions {
  state?: NotificationState;
  endpoint?: string;
  type?: string;
  bizId?: string;
  subject?: string;
  reason?: string;
  since?: Date;
  until?: Date;
  search?: string;
}

const members = ['state', 'endpoint', 'type', 'bizId', 'subject', 'reason', 'since', 'until', 'search'] as const;

export function filterOptions(command: Command, now: () => Date): void {
  command
    .addOption(
      new Option('--state <state>', 'where it stands').choices(['pending', 'delivered', 'dead', 'cancelled', 'closed']),
    )
    .option('--endpoint <id>', 'of this endpoint')
    .option('--type <type>', 'of this type')
    .option('--biz-id <id>', 'with this business id')
    .option('--subject <text>', 'about this subject')
    .option('--reason <reason>', 'settled for this reason')
    .option('--since <moment>', 'enqueued at or after it: 24h, 7d, 2026-01-31', moment(now))
    .option('--until <moment>', 'enqueued before it', moment(now))
    .option('--search <text>', 'whose business id or subject is this');
}

export function filterOf(options: FilterOptions): NotificationFilter {
  return Object.fromEntries(
    members.filter((member) => options[member] !== undefined).map((member) => [member, options[member]]),
  );
}
