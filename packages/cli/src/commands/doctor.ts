import { addCommand, connectionOptions } from '../command.js';
import { closeSender, openSender, senderOptions, type ConnectionOptions } from '../connect.js';
import { checkAddresses } from '../doctor/check-addresses.js';
import { checkDatabase } from '../doctor/check-database.js';
import { checkOutbox } from '../doctor/check-outbox.js';
import { checkRedis } from '../doctor/check-redis.js';
import { describeError, type Finding } from '../doctor/finding.js';
import { exitCodes } from '../exit-codes.js';
import { printable } from '../output/printable.js';
import type { Terminal } from '../output/terminal.js';

interface Options extends ConnectionOptions {
  redis?: string;
  endpoint?: string;
  addresses?: boolean;
  json?: boolean;
}

export const doctor = addCommand<Options>({
  name: 'doctor',
  summary: 'Check the database, the schema, the clock, Redis and the addresses of endpoints',
  details:
    'Each line is ok, warn or fail, with the next step. Exit codes: 0 nothing failed, 1 something did. Nothing is changed.',
  examples: [
    ['doctor', 'everything; Redis when REDIS_URL is set'],
    ['doctor --endpoint merchant-42', 'the address of one endpoint'],
  ],
  options: (command) => {
    connectionOptions(command);
    command
      .option('--redis <url>', "the Redis of a receiver's store (default: REDIS_URL)")
      .option('--endpoint <id>', 'look at the address of this endpoint alone')
      .option('--no-addresses', 'make no connections to endpoints');
  },
  action: async ({ terminal, now }, options) => {
    const findings: Finding[] = [];
    const report = async (found: readonly Finding[]) => {
      findings.push(...found);
      for (const each of found)
        await (options.json === true ? terminal.json(each) : terminal.print(line(terminal, each)));
    };
    const { database, schema = 'bestnotify' } = await senderOptions(terminal.streams, options);
    const sender = await openSender(terminal.streams, options);
    try {
      const isServer = typeof database === 'string' && /^postgres(ql)?:/.test(database);
      await report(isServer ? await checkDatabase({ url: database, schema, sender, now }) : [embedded]);
      await report(secretKeyFinding(terminal));
      const canGoOn = findings.every(({ result }) => result !== 'fail');
      if (canGoOn) await report(await checkOutbox(sender));
      const redis = options.redis ?? terminal.streams.env['REDIS_URL'];
      if (redis !== undefined && redis !== '') await report(await checkRedis(redis));
      if (canGoOn && options.addresses !== false) await report(await addressesOf(sender, options.endpoint));
    } finally {
      await closeSender(sender);
    }
    return findings.some(({ result }) => result === 'fail') ? exitCodes.failed : exitCodes.fine;
  },
});

const embedded: Finding = {
  check: 'database',
  result: 'warn',
  message: 'the embedded database serves one process on one host',
  next: 'Set DATABASE_URL to a PostgreSQL server before going live.',
};

async function addressesOf(...given: Parameters<typeof checkAddresses>): Promise<Finding[]> {
  return checkAddresses(...given).catch((error: unknown) => [
    {
      check: 'address',
      result: 'fail',
      message: describeError(error),
      next: 'Mend what is said above first.',
    } as const,
  ]);
}

function secretKeyFinding({ streams: { env } }: Terminal): Finding[] {
  const key = env['BESTNOTIFY_SECRET_KEY'];
  if (key !== undefined && key !== '')
    return [{ check: 'secrets', result: 'ok', message: 'stored secrets are sealed' }];
  const next =
    'Set BESTNOTIFY_SECRET_KEY to base64 of 32 random bytes, or give secretStorage in the configuration file.';
  return [{ check: 'secrets', result: 'warn', message: 'BESTNOTIFY_SECRET_KEY is not set', next }];
}

function line({ colours }: Terminal, { check, result, message, next }: Finding): string {
  const paint = { ok: colours.green, warn: colours.yellow, fail: colours.red }[result];
  const head = `${paint(result.padEnd(4))}  ${check.padEnd(8)}  ${printable(message)}`;
  return next === undefined ? head : `${head}\n                → ${next}`;
}
