import type { NotificationInput } from '@bestnotify/sender';
import { encodeEnvelope } from '@bestnotify/protocol';
import { addCommand, connectionOptions, secretOptions, type Cli } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { UsageError } from '../errors.js';
import { parseJson } from '../input/parse-json.js';
import { wholeNumber } from '../input/parse-options.js';
import { readBytes } from '../input/read-bytes.js';
import { requireSecrets } from '../input/read-secret.js';
import { bytesShape } from '../shapes.js';

interface Options extends ConnectionOptions {
  type: string;
  bizId: string;
  subject?: string;
  data?: string;
  dataFile?: string;
  to?: string;
  url?: string;
  secretStdin?: boolean;
  policy?: string;
  maxAttempts?: number;
  urgent?: boolean;
  occurredAt?: string;
  sequence?: number;
  dryRun?: boolean;
  json?: boolean;
}

export const send = addCommand<Options>({
  name: 'send [endpoint]',
  summary: 'Add a notification to the outbox; workers send it',
  details: 'The same type and business id with the same data again changes nothing; with other data it is refused.',
  examples: [
    [`send merchant-42 --type payment.success --biz-id PAY1 --data '{"amount":"100.00"}'`, 'to a stored endpoint'],
    ['send merchant-42 --type payment.success --biz-id PAY1 --data-file - < data.json', 'with the data from stdin'],
    [
      'send --to merchant-7 --url https://shop.example/notify --type test --biz-id T1',
      'to a URL, with the secret from BESTNOTIFY_SECRET',
    ],
    ['send merchant-42 --type test --biz-id T1 --dry-run', 'shows the body and writes nothing'],
  ],
  options: (command) => {
    connectionOptions(command);
    secretOptions(command);
    command
      .requiredOption('--type <type>', 'the event, for example payment.success')
      .requiredOption('--biz-id <id>', "the id of the event's own object, for example the payment number")
      .option('--subject <text>', 'what it is about, for example the order number')
      .option('--data <json>', 'the data (default: {})')
      .option('--data-file <file>', 'a file with the data; - reads stdin')
      .option('--to <id>', 'instead of an endpoint: who it is for; needs --url and a secret')
      .option('--url <url>', 'where this notification goes, instead of the URL of the endpoint')
      .option('--policy <name>', 'a retry policy for this notification')
      .option('--max-attempts <count>', 'attempts before it is given up', wholeNumber())
      .option('--urgent', 'send it before others')
      .option('--occurred-at <moment>', 'when it happened, RFC 3339')
      .option('--sequence <number>', 'for receivers that order states', wholeNumber(0))
      .option('--dry-run', 'show what would be sent and write nothing');
  },
  action: (cli, options, [endpoint = '']) =>
    withSender(cli.terminal.streams, options, async (sender) => {
      const input = await inputOf(cli, options, endpoint);
      if (options.dryRun === true) {
        const { endpoint: stored, to = stored ?? '', type, bizId, subject, occurredAt, sequence, data } = input;
        if (stored !== undefined && (await sender.endpoints.get(stored)) === undefined) {
          throw new UsageError({
            option: 'endpoint',
            problem: `${stored} does not exist`,
            fix: 'See bestnotify endpoints list.',
          });
        }
        const envelope = { source: sender.source, to, type, bizId, subject, occurredAt, sequence, data };
        const known = Object.fromEntries(Object.entries(envelope).filter(([, value]) => value !== undefined));
        const body = encodeEnvelope(known as unknown as Parameters<typeof encodeEnvelope>[0]);
        const shape = { dryRun: true, bodyBytes: body.byteLength, body: bytesShape(body) };
        await (options.json === true ? cli.terminal.json(shape) : cli.terminal.json(envelopeOf(body)));
        cli.terminal.note('Nothing was written.');
        return;
      }
      const { id, created, state } = await sender.notify(input);
      if (options.json === true) await cli.terminal.json({ id, created, state });
      else await cli.terminal.print(created ? `${id} was added.` : `${id} exists already and is ${state}.`);
    }),
});

function envelopeOf(body: Buffer): unknown {
  return JSON.parse(body.toString());
}

async function inputOf({ terminal }: Cli, options: Options, endpoint: string): Promise<NotificationInput> {
  const { type, bizId, subject, to, url, policy, maxAttempts, occurredAt, sequence } = options;
  if ((endpoint === '') === (to === undefined)) {
    throw new UsageError({ option: 'endpoint', problem: 'must be given, or else --to with --url', fix: 'Not both.' });
  }
  const optional = { subject, url, policy, maxAttempts, occurredAt, sequence };
  const secret = to === undefined ? undefined : (await requireSecrets(terminal.streams, options))[0];
  return {
    ...(to === undefined ? { endpoint } : { to, secret }),
    type,
    bizId,
    data: await dataOf(terminal.streams, options),
    ...(options.urgent === true && { lane: 'urgent' }),
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== undefined)),
  } as NotificationInput;
}

async function dataOf(streams: Cli['terminal']['streams'], options: Options): Promise<unknown> {
  const { data, dataFile, secretStdin } = options;
  if (data !== undefined && dataFile !== undefined) {
    throw new UsageError({ option: '--data-file', problem: 'and --data exclude each other' });
  }
  if (dataFile === '-' && secretStdin === true) {
    throw new UsageError({
      option: '--secret-stdin',
      problem: 'and --data-file - both read stdin',
      fix: 'Set BESTNOTIFY_SECRET.',
    });
  }
  if (data !== undefined) return parseJson(data, '--data');
  return dataFile === undefined
    ? {}
    : parseJson((await readBytes(streams, dataFile)).toString(), dataFile === '-' ? 'stdin' : dataFile);
}
