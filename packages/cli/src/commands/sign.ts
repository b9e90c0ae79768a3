import {
  headerNames,
  maskSecret,
  newNotificationId,
  parseSigningKey,
  signNotification,
  toTimestampSeconds,
} from '@bestnotify/protocol';
import { addCommand, secretOptions } from '../command.js';
import { UsageError } from '../errors.js';
import { wholeNumber } from '../input/parse-options.js';
import { readBytes } from '../input/read-bytes.js';
import { requireSecrets } from '../input/read-secret.js';

interface Options {
  body: string;
  id?: string;
  timestamp?: number;
  secretStdin?: boolean;
  json?: boolean;
}

export const sign = addCommand<Options>({
  name: 'sign',
  summary: 'Sign a body and print the three headers',
  examples: [
    ['sign --body body.json', 'with the secret from BESTNOTIFY_SECRET; several sign with each'],
    [
      'sign --body body.json | sed "s/^/header = \\"/; s/$/\\"/" | curl -K - --data-binary @body.json https://shop.example/notify',
      'sends it',
    ],
  ],
  options: (command) => {
    secretOptions(command);
    command
      .requiredOption('--body <file>', 'the exact bytes; - reads stdin')
      .option('--id <id>', 'the notification id (default: a new one)')
      .option('--timestamp <seconds>', 'unix seconds (default: now)', wholeNumber());
  },
  action: async ({ terminal, now }, options) => {
    if (options.secretStdin === true && options.body === '-') {
      throw new UsageError({
        option: '--secret-stdin',
        problem: 'and --body - both read stdin',
        fix: 'Set BESTNOTIFY_SECRET.',
      });
    }
    const secrets = await requireSecrets(terminal.streams, options);
    const body = await readBytes(terminal.streams, options.body);
    const id = options.id ?? newNotificationId(now().getTime());
    const timestampSeconds = options.timestamp ?? toTimestampSeconds(now());
    const keys = secrets.map((secret) => parseSigningKey(secret));
    const headers = {
      [headerNames.id]: id,
      [headerNames.timestamp]: String(timestampSeconds),
      [headerNames.signature]: signNotification({ id, timestampSeconds, body, keys }),
    };
    if (options.json === true) await terminal.json(headers);
    else for (const [name, value] of Object.entries(headers)) await terminal.print(`${name}: ${value}`);
    terminal.note(`Signed ${body.byteLength} bytes with ${secrets.map(maskSecret).join(', ')}.`);
  },
});
