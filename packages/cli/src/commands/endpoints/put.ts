import { generateSecret } from '@bestnotify/protocol';
import type { Endpoint, EndpointInput } from '@bestnotify/sender';
import type { Command } from 'commander';
import { addCommand, connectionOptions, secretOptions, type Cli } from '../../command.js';
import { withSender, type ConnectionOptions } from '../../connect.js';
import { InputError, UsageError } from '../../errors.js';
import { collect, positiveNumber, wholeNumber } from '../../input/parse-options.js';
import { readBytes } from '../../input/read-bytes.js';
import { readSecrets } from '../../input/read-secret.js';
import { renderEndpoint } from './show.js';

interface Options extends ConnectionOptions {
  url?: string;
  file?: string;
  generateSecret?: boolean;
  secretStdin?: boolean;
  policy?: string;
  maxAttempts?: number;
  ack?: string;
  maxInFlight?: number;
  maxPerSecond?: number;
  allowHttp?: boolean;
  traceparent?: boolean;
  privateNetwork?: string[];
  profile?: 'v1' | 'body-hmac';
  owner?: string;
  json?: boolean;
}

export const putEndpoint = addCommand<Options>({
  name: 'put <id>',
  summary: 'Create an endpoint, or change some of its settings',
  details:
    'What is not given stays as it is. Headers, credentials and TLS settings come with --file, and null there takes one ' +
    'away. The secret comes from BESTNOTIFY_SECRET or stdin, or is generated and shown once.',
  examples: [
    [
      'endpoints put merchant-42 --url https://shop.example/notify --generate-secret',
      'prints the secret to give to the merchant',
    ],
    ['endpoints put merchant-42 --policy standard-webhooks', 'changes one setting'],
    ['endpoints put merchant-42 --file endpoint.json', 'with every member that endpoints.put of the library knows'],
  ],
  options: (command) => {
    connectionOptions(command);
    secretOptions(command);
    settingOptions(command);
  },
  action: ({ terminal }, options, [id = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      const before = await sender.endpoints.get(id);
      const file = options.file === undefined ? {} : await readSettings(terminal.streams, options.file);
      const [secrets, generated] = await secretsOf(terminal.streams, options, before ?? file);
      const endpoint = await sender.endpoints.put({
        ...(before === undefined ? {} : inputOf(before)),
        ...file,
        ...settingsOf(options),
        ...(secrets === undefined ? {} : { secrets }),
        id,
      });
      if (options.json === true)
        await terminal.json({ ...endpoint, ...(generated !== undefined && { secret: generated }) });
      else {
        await terminal.print(renderEndpoint(terminal, endpoint));
        if (generated !== undefined)
          await terminal.print(`\n${generated}\nThis secret is shown once. Give it to the merchant.`);
      }
    }),
});

function settingOptions(command: Command): void {
  command
    .option('--url <url>', 'where to POST')
    .option('--file <file>', 'settings as JSON; - reads stdin')
    .option('--generate-secret', 'make a secret, and show it once')
    .option('--policy <name>', 'retry policy')
    .option('--max-attempts <count>', 'attempts before a notification is given up', wholeNumber())
    .option('--ack <rule>', 'how a reply counts as acknowledged: success, status, json-code')
    .option('--max-in-flight <count>', 'most requests at once from one worker', wholeNumber())
    .option('--max-per-second <count>', 'most requests begun per second', positiveNumber)
    .option('--allow-http', 'allow plain http')
    .option('--no-allow-http', 'require https')
    .option('--traceparent', 'tell it where our trace goes on')
    .option('--no-traceparent', 'do not')
    .option('--private-network <cidr>', 'a private network it may be in, repeatable', collect)
    .option('--profile <profile>', 'wire profile: v1, or body-hmac')
    .option('--owner <id>', 'endpoints of one owner may share a secret');
}

type Settings = Partial<Omit<EndpointInput, 'id'>>;

function settingsOf(options: Options): Settings {
  const { url, policy, maxAttempts, ack, maxInFlight, maxPerSecond, allowHttp, traceparent, profile, owner } = options;
  const allowPrivateNetwork = options.privateNetwork;
  const all = {
    url,
    policy,
    maxAttempts,
    ack,
    maxInFlight,
    maxPerSecond,
    allowHttp,
    traceparent,
    profile,
    owner,
    allowPrivateNetwork,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** What is stored, as it would be given. */
function inputOf(endpoint: Endpoint): Settings {
  const { url, policy, maxAttempts, maxInFlight, maxInFlightEverywhere, maxPerSecond, owner, ...rest } = endpoint;
  const { ack, profile, allowHttp, allowPrivateNetwork, traceparent } = rest;
  const nullable = { url, maxAttempts, maxInFlight, maxInFlightEverywhere, maxPerSecond, owner };
  const parsed = policy?.startsWith('{') === true ? (JSON.parse(policy) as EndpointInput['policy']) : policy;
  return {
    ...{ ack, profile, allowHttp, allowPrivateNetwork, traceparent },
    ...Object.fromEntries(Object.entries({ ...nullable, policy: parsed }).filter(([, value]) => value !== null)),
  };
}

async function readSettings(streams: Cli['terminal']['streams'], file: string): Promise<Settings> {
  const from = file === '-' ? 'stdin' : file;
  const text = (await readBytes(streams, file)).toString();
  try {
    const settings: unknown = JSON.parse(text);
    if (typeof settings === 'object' && settings !== null && !Array.isArray(settings)) return settings;
  } catch (cause) {
    throw new InputError({ from, problem: `is no JSON: ${(cause as Error).message}`, cause });
  }
  throw new InputError({ from, problem: 'is no JSON object' });
}

/** The secrets to store, if they change, and the one that was generated. */
async function secretsOf(
  streams: Cli['terminal']['streams'],
  options: Options,
  known: { secrets?: readonly unknown[] },
): Promise<[secrets: string[] | undefined, generated: string | undefined]> {
  if (options.secretStdin === true && options.file === '-') {
    throw new UsageError({
      option: '--secret-stdin',
      problem: 'and --file - both read stdin',
      fix: 'Set BESTNOTIFY_SECRET.',
    });
  }
  const given = await readSecrets(streams, options);
  if (options.generateSecret === true) {
    if (given.length > 0)
      throw new UsageError({ option: '--generate-secret', problem: 'and a given secret exclude each other' });
    const secret = generateSecret();
    return [[secret], secret];
  }
  // The environment may hold a secret for other commands: an endpoint that has one keeps it, unless stdin says otherwise.
  const isAsked = options.secretStdin === true || (known.secrets ?? []).length === 0;
  return [isAsked && given.length > 0 ? given : undefined, undefined];
}
