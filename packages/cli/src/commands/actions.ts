import type { Action, Sender } from '@bestnotify/sender';
import { auditOf } from '../actor.js';
import { addCommand, auditOptions, connectionOptions, type CommandSpec } from '../command.js';
import { checkNotificationId } from '../input/check-notification-id.js';
import { withSender, type ConnectionOptions } from '../connect.js';

interface Options extends ConnectionOptions {
  actor?: string;
  note?: string;
  json?: boolean;
}

/** A command that changes one notification and says so. */
function act(
  facts: Pick<CommandSpec<Options>, 'summary' | 'examples' | 'details'> & {
    verb: string;
    done: string;
    work: (sender: Sender, id: string, action: Action) => Promise<void>;
    needsNote?: boolean;
  },
) {
  return addCommand<Options>({
    ...facts,
    name: `${facts.verb} <id>`,
    options: (command) => {
      connectionOptions(command);
      auditOptions(command);
      if (facts.needsNote === true) {
        for (const option of command.options) if (option.long === '--note') option.makeOptionMandatory();
      }
    },
    action: ({ terminal }, options, [id = '']) =>
      withSender(terminal.streams, options, async (sender) => {
        checkNotificationId(id, facts.verb);
        await facts.work(sender, id, auditOf(terminal.streams, options));
        await (options.json === true
          ? terminal.json({ id, action: facts.verb })
          : terminal.print(`${id} ${facts.done}.`));
      }),
  });
}

const id = 'ntf_019b7892-1c00-7fff-bfff-ffffffffffff';

export const sendNow = act({
  verb: 'send-now',
  summary: 'Make a pending notification due now',
  examples: [[`send-now ${id}`, 'the next worker takes it; refused while one is sending it']],
  done: 'is due now',
  work: (sender, ...given) => sender.operations.sendNow(...given),
});

export const cancel = act({
  verb: 'cancel',
  summary: 'End a pending notification without sending it',
  examples: [[`cancel ${id} --note "order was reversed"`, 'refused once it is settled, or while it is being sent']],
  done: 'was cancelled',
  work: (sender, ...given) => sender.operations.cancel(...given),
});

export const close = act({
  verb: 'close',
  summary: 'Record that a dead notification was made good by hand',
  examples: [[`close ${id} --note "told by telephone"`, 'takes it off the list of what is dead']],
  done: 'was closed',
  needsNote: true,
  work: (sender, wanted, action) => sender.operations.close(wanted, { ...action, note: action.note ?? '' }),
});

export const erase = act({
  verb: 'erase',
  summary: 'Remove the body and the stored replies of a settled notification for good',
  examples: [[`erase ${id} --note "request 17"`, 'it can never be sent again']],
  done: 'was erased',
  work: (sender, ...given) => sender.operations.erase(...given),
});
