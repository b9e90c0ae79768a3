import { decodeEnvelope, parseVerifyingKey } from '@bestnotify/protocol';
import { addCommand, secretOptions } from '../command.js';
import { UsageError } from '../errors.js';
import { exitCodes } from '../exit-codes.js';
import { moment } from '../input/parse-options.js';
import { readBytes } from '../input/read-bytes.js';
import { requireSecrets } from '../input/read-secret.js';
import { renderTable } from '../output/table.js';
import { examineRequest, type Check } from '../signing/examine-request.js';
import { parseHeaders } from '../signing/parse-headers.js';
import type { Cli } from '../command.js';

interface Options {
  headers: string;
  body: string;
  original?: string;
  at?: Date;
  to?: string;
  secretStdin?: boolean;
  json?: boolean;
}

export const verify = (now: Cli['now']) =>
  addCommand<Options>({
    name: 'verify',
    summary: 'Say whether a captured request is genuine, and if not, which part is wrong: time, id, key or bytes',
    details: 'Exit codes: 0 genuine, 2 not genuine, 1 it could not be examined.',
    examples: [
      ['verify --headers headers.txt --body body.bin', 'with the secret from BESTNOTIFY_SECRET'],
      ['verify --headers headers.txt --body body.bin --at 2026-01-31T08:00:00Z', 'as if it were received then'],
      ['verify --headers headers.txt --body body.bin --original sent.json', 'tells a changed body from a wrong key'],
    ],
    options: (command) => {
      secretOptions(command);
      command
        .requiredOption('--headers <file>', 'lines of "Name: value", or JSON; - reads stdin')
        .requiredOption('--body <file>', 'the exact bytes that came; - reads stdin')
        .option('--original <file>', 'the body as it was sent')
        .option('--to <id>', 'who it must be for')
        .option('--at <moment>', 'when it was received (default: now)', moment(now));
    },
    action: async ({ terminal }, options) => {
      const usesOfStdin = [options.headers, options.body, options.original].filter((file) => file === '-').length;
      if (usesOfStdin + (options.secretStdin === true ? 1 : 0) > 1) {
        throw new UsageError({ option: '-', problem: 'stands for stdin and can be used once' });
      }
      const secrets = await requireSecrets(terminal.streams, options);
      for (const secret of secrets) parseVerifyingKey(secret); // a mistyped secret is said as such
      const headers = parseHeaders((await readBytes(terminal.streams, options.headers)).toString(), options.headers);
      const body = await readBytes(terminal.streams, options.body);
      const original = options.original === undefined ? undefined : await readBytes(terminal.streams, options.original);
      const at = options.at ?? now();
      const checks = examineRequest({ headers, body, secrets, now: at, ...(original !== undefined && { original }) });
      if (checks.every(({ result }) => result === 'ok')) checks.push(...checkAudience(body, options.to));
      const isGenuine = checks.every(({ result }) => result === 'ok');
      if (options.json === true) await terminal.json({ genuine: isGenuine, checks });
      else {
        await terminal.print(
          renderTable(
            terminal,
            ['CHECK', 'RESULT', ''],
            checks.map(({ check, result, message }) => [check, result, message]),
          ),
        );
        await terminal.print(isGenuine ? 'Genuine.' : 'Not genuine.');
      }
      return isGenuine ? exitCodes.fine : exitCodes.refused;
    },
  });

function checkAudience(body: Buffer, to: string | undefined): Check[] {
  if (to === undefined) return [];
  try {
    const envelope = decodeEnvelope(body);
    return [{ check: 'audience', result: envelope.to === to ? 'ok' : 'fail', message: `it is for ${envelope.to}` }];
  } catch (error) {
    return [{ check: 'audience', result: 'fail', message: `the body is no envelope: ${(error as Error).message}` }];
  }
}
