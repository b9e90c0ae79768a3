import { generateSecret, maskSecret } from '@bestnotify/protocol';
import { InvalidArgumentError } from 'commander';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { addCommand, secretOptions, type Cli } from '../command.js';
import { UsageError } from '../errors.js';
import { exitCodes } from '../exit-codes.js';
import { wholeNumber } from '../input/parse-options.js';
import { readSecrets } from '../input/read-secret.js';
import type { Answer } from '../work/local-receiver.js';

interface Options {
  port: number;
  host: string;
  source?: string;
  to: string;
  answer: Answer[];
  secretStdin?: boolean;
  json?: boolean;
}

export const listen = addCommand<Options>({
  name: 'listen',
  summary: 'Receive on this machine: verify, print and answer as told, for development',
  details:
    'What does not verify is refused as a real receiver refuses it. --answer is a script: its last step is for all that follow. ' +
    'Steps: success, fail, retry-later, hang, or a status such as 503. Without a secret one is generated and shown.',
  examples: [
    ['listen --source acme-pay --to merchant-42 --port 3000', 'with the secret from BESTNOTIFY_SECRET'],
    ['listen --source acme-pay --to merchant-42 --answer 503,hang,success', 'fails, stays silent, then succeeds'],
  ],
  options: (command) => {
    secretOptions(command);
    command
      .option('--source <name>', 'the platform (default: BESTNOTIFY_SOURCE)')
      .requiredOption('--to <id>', 'who we are to it')
      .option('--port <port>', 'where to listen; 0 takes a free one', wholeNumber(0), 3000)
      .option('--host <address>', 'and on which address', '127.0.0.1')
      .option('--answer <steps>', 'what to answer to genuine notifications', parseAnswers, ['success'] as Answer[]);
  },
  action: async (cli, options) => {
    const { terminal, interruption } = cli;
    const source = options.source ?? terminal.streams.env['BESTNOTIFY_SOURCE'];
    if (source === undefined)
      throw new UsageError({ option: '--source', problem: 'is missing', fix: 'Give it, or set BESTNOTIFY_SOURCE.' });
    const secrets = await secretsOf(cli, options);
    const { createLocalReceiver } = await import('../work/local-receiver.js');
    const { to, answer, host, port } = options;
    const receiver = createLocalReceiver({
      source,
      to,
      secrets,
      answers: answer,
      now: cli.now,
      tell: async (received) => {
        await (options.json === true ? terminal.json(received.facts) : terminal.print(received.text));
      },
    });
    const server = createServer(receiver);
    server.listen(port, host);
    await once(server, 'listening');
    terminal.note(
      `Listening on http://${host}:${(server.address() as AddressInfo).port} for ${source} as ${to}. Ctrl-C ends.`,
    );
    if (!interruption.signal.aborted) await once(interruption.signal, 'abort');
    server.close();
    server.closeAllConnections();
    return exitCodes.fine;
  },
});

async function secretsOf({ terminal }: Cli, options: Options): Promise<readonly string[]> {
  const given = await readSecrets(terminal.streams, options);
  if (given.length > 0) {
    terminal.note(`Verifying with ${given.map(maskSecret).join(', ')}.`);
    return given;
  }
  const secret = generateSecret();
  terminal.note(`No secret was given. Give this one to the sender's endpoint: ${secret}`);
  return [secret];
}

function parseAnswers(text: string): Answer[] {
  return text.split(',').map((step) => {
    const status = Number(step);
    if (step === 'success' || step === 'fail' || step === 'retry-later' || step === 'hang') return step;
    if (/^\d{3}$/.test(step) && status >= 200 && status <= 599) return status;
    throw new InvalidArgumentError('Steps are success, fail, retry-later, hang, or a status from 200 to 599.');
  });
}
