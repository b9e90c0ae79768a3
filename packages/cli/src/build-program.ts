import { Command } from 'commander';
import type { Cli, Register, Runner } from './command.js';
import { cancel, close, erase, sendNow } from './commands/actions.js';
import { audit } from './commands/audit.js';
import { completion } from './commands/completion.js';
import { serveConsole } from './commands/console.js';
import { doctor } from './commands/doctor.js';
import {
  holdEndpoint,
  removeEndpoint,
  resumeEndpoint,
  rotateSecret,
  testEndpoint,
} from './commands/endpoints/change.js';
import { listEndpoints } from './commands/endpoints/list.js';
import { putEndpoint } from './commands/endpoints/put.js';
import { showEndpoint } from './commands/endpoints/show.js';
import { forward } from './commands/forward.js';
import { list } from './commands/list.js';
import { listen } from './commands/listen.js';
import { migrate } from './commands/migrate.js';
import { processDue } from './commands/process.js';
import { prune } from './commands/prune.js';
import { resend } from './commands/resend.js';
import { send } from './commands/send.js';
import { show } from './commands/show.js';
import { sign } from './commands/sign.js';
import { stats } from './commands/stats.js';
import { verify } from './commands/verify.js';
import { work } from './commands/work.js';
import { version } from './version.js';

/** The whole command line. Nothing has run yet. */
export function buildProgram(run: Runner, now: Cli['now']): Command {
  const program = new Command('bestnotify')
    .description('Sends notifications until they are acknowledged, and shows why one was not.')
    .version(version, '--version', 'print the version')
    .helpCommand('help [command]', 'show the help of a command')
    .showHelpAfterError('(add --help for usage and examples)')
    .addHelpText('after', footer);
  const group = (parent: Command, heading: string, commands: readonly Register[]) => {
    parent.commandsGroup(heading);
    for (const register of commands) register(parent, run);
  };
  group(program, 'Run:', [migrate, work, processDue, prune]);
  group(program, 'Look:', [list(now), show, stats, audit, doctor, serveConsole]);
  group(program, 'Act:', [send, sendNow, resend(now), cancel, close, erase]);
  program.commandsGroup('Look:');
  const endpoints = program
    .command('endpoints')
    .summary('See and change endpoints')
    .description('See and change endpoints.');
  group(endpoints, 'Commands:', [
    ...[listEndpoints, showEndpoint, putEndpoint, holdEndpoint, resumeEndpoint],
    ...[rotateSecret, testEndpoint, removeEndpoint],
  ]);
  group(program, 'Develop:', [listen, forward, sign, verify(now), completion]);
  return program;
}

const footer = `
Environment:
  DATABASE_URL, BESTNOTIFY_SOURCE, BESTNOTIFY_SCHEMA, BESTNOTIFY_CONFIG   which outbox
  BESTNOTIFY_SECRET       a signing secret, for the commands that need one; never an argument
  BESTNOTIFY_SECRET_KEY   seals the stored secrets: base64 of 32 random bytes
  NO_COLOR                no colours on a terminal either

Exit codes:
  0 fine   1 error   2 refused, or to be retried   3 given up   4 cut off   130, 143 interrupted`;
