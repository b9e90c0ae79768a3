import { auditOf } from '../../actor.js';
import { addCommand, auditOptions, connectionOptions, secretOptions } from '../../command.js';
import { withSender, type ConnectionOptions } from '../../connect.js';
import { UsageError } from '../../errors.js';
import { readSecrets } from '../../input/read-secret.js';
import { InvalidArgumentError } from 'commander';

interface Options extends ConnectionOptions {
  actor?: string;
  note?: string;
  json?: boolean;
}

const audited = (command: Parameters<typeof auditOptions>[0]) => {
  connectionOptions(command);
  auditOptions(command);
};

export const holdEndpoint = addCommand<Options>({
  name: 'hold <id>',
  summary: 'Send nothing to an endpoint until it is resumed',
  details: 'Its notifications are kept and lose neither attempts nor time.',
  examples: [['endpoints hold merchant-42 --note "maintenance until 6:00"', 'the note is shown as the reason']],
  options: audited,
  action: ({ terminal }, options, [id = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      await sender.operations.holdEndpoint(id, auditOf(terminal.streams, options));
      await (options.json === true ? terminal.json({ id, action: 'hold' }) : terminal.print(`${id} is held.`));
    }),
});

export const resumeEndpoint = addCommand<Options>({
  name: 'resume <id>',
  summary: 'Send to a held endpoint again',
  examples: [['endpoints resume merchant-42', 'the time it was held does not count']],
  options: audited,
  action: ({ terminal }, options, [id = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      await sender.operations.resumeEndpoint(id, auditOf(terminal.streams, options));
      await (options.json === true ? terminal.json({ id, action: 'resume' }) : terminal.print(`${id} is resumed.`));
    }),
});

export const removeEndpoint = addCommand<Options & { yes?: boolean }>({
  name: 'remove <id>',
  summary: 'Remove an endpoint and its secrets',
  details: 'What is still pending for it ends dead with the reason endpoint-removed.',
  examples: [['endpoints remove merchant-42 --yes', 'there is no way back, so it asks for --yes']],
  options: (command) => {
    connectionOptions(command);
    command.option('--yes', 'it is meant');
  },
  action: ({ terminal }, options, [id = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      if (options.yes !== true) {
        throw new UsageError({
          option: '--yes',
          problem: `is missing: removing ${id} cannot be undone`,
          fix: 'To pause it, hold it.',
        });
      }
      const removed = await sender.endpoints.remove(id);
      if (!removed)
        throw new UsageError({
          option: 'id',
          problem: `${JSON.stringify(id)} is no endpoint of source ${sender.source}`,
        });
      await (options.json === true ? terminal.json({ id, action: 'remove' }) : terminal.print(`${id} was removed.`));
    }),
});

export const rotateSecret = addCommand<Options & { overlapHours?: number; secretStdin?: boolean }>({
  name: 'rotate-secret <id>',
  summary: 'Give an endpoint a new secret beside the old ones',
  details:
    'Until the old ones retire, requests are signed with all of them. Without --secret-stdin one is generated. The new secret is ' +
    'printed once, on stdout, and can never be read back.',
  examples: [
    ['endpoints rotate-secret merchant-42', 'the old secret signs for 48 hours more'],
    ['endpoints rotate-secret merchant-42 --overlap-hours 0', 'it leaked: it retires at once'],
  ],
  options: (command) => {
    audited(command);
    secretOptions(command);
    command.option('--overlap-hours <hours>', 'how long the old ones go on signing (default: 48)', hours);
  },
  action: ({ terminal }, options, [id = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      const [given] = options.secretStdin === true ? await readSecrets(terminal.streams, options) : [];
      const rotated = await sender.operations.rotateSecret(id, {
        ...auditOf(terminal.streams, options),
        ...(given !== undefined && { secret: given }),
        ...(options.overlapHours !== undefined && { overlapHours: options.overlapHours }),
      });
      if (options.json === true) await terminal.json(rotated);
      else {
        await terminal.print(rotated.secret);
        terminal.note(`Secret ${rotated.id} of ${id}. It is shown once: give it to the merchant.`);
      }
    }),
});

export const testEndpoint = addCommand<Options>({
  name: 'test <id>',
  summary: 'Send a test notification to an endpoint, tried once',
  details: 'A normal notification of type bestnotify.test: workers send it, and show says how it went.',
  examples: [['endpoints test merchant-42', 'prints its id']],
  options: audited,
  action: ({ terminal }, options, [endpoint = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      const id = await sender.operations.testSend(endpoint, auditOf(terminal.streams, options));
      await (options.json === true ? terminal.json({ id, endpoint }) : terminal.print(id));
    }),
});

function hours(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !(value >= 0 && value <= 8760))
    throw new InvalidArgumentError('It must be a number from 0 to 8760.');
  return value;
}
