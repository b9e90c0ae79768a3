import { Option, type Command } from 'commander';
import { collect } from './input/parse-options.js';
import type { Terminal } from './output/terminal.js';

/** What a command may use. Its result is the exit code, 0 when it says nothing. */
export interface Cli {
  terminal: Terminal;
  now: () => Date;
  /** Ends when the person or the supervisor asks for it. */
  interruption: Interruption;
}

/** SIGINT and SIGTERM in two stages: the first asks to stop, the second ends the process at once. */
export interface Interruption {
  /** Aborted by the first signal. Listening to signals begins when this is read. */
  readonly signal: AbortSignal;
  /** Which one it was. */
  readonly received: 'SIGINT' | 'SIGTERM' | undefined;
}

/** What a command does. */
export type Action<Options> = (cli: Cli, options: Options, args: readonly string[]) => Done;

/** An exit code, or nothing for 0. */
export type Done = Promise<number | undefined> | Promise<void>;

/** How a command is described. */
export interface CommandSpec<Options> {
  /** Name and arguments as commander writes them: `show <id>`. */
  name: string;
  summary: string;
  /** Each with a word on what it does. */
  examples: readonly (readonly [command: string, what: string])[];
  /** More than the summary says, in whole sentences. */
  details?: string;
  options?: (command: Command) => void;
  action: Action<Options>;
}

export type Register = (parent: Command, run: Runner) => void;
/** Carries out an action and keeps its exit code. */
export type Runner = (work: (cli: Cli) => Done) => Promise<void>;

/** Adds a command to its parent. `--json` is an option of every one of them. */
export function addCommand<Options>(spec: CommandSpec<Options>): Register {
  return (parent, run) => {
    const command = parent.command(spec.name).summary(spec.summary);
    command.description(spec.details === undefined ? `${spec.summary}.` : `${spec.summary}.\n\n${spec.details}`);
    spec.options?.(command);
    command.option('--json', 'print JSON, one value per line');
    const lines = spec.examples.map(([text, what]) => `  $ bestnotify ${text}\n      ${what}`);
    command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`);
    command.action(async () => {
      const args = command.processedArgs.map((arg: unknown) => (typeof arg === 'string' ? arg : ''));
      await run((cli) => spec.action(cli, command.optsWithGlobals<Options & object>(), args));
    });
  };
}

/** The options that say which outbox is meant. */
export function connectionOptions(command: Command): void {
  command
    .addOption(
      new Option(
        '--database <url>',
        'postgres://… or pglite:<directory> (default: DATABASE_URL, else pglite:.bestnotify)',
      ),
    )
    .addOption(new Option('--source <name>', 'the platform, for example acme-pay (default: BESTNOTIFY_SOURCE)'))
    .addOption(new Option('--schema <name>', "where the tables live (default: BESTNOTIFY_SCHEMA, else 'bestnotify')"))
    .addOption(
      new Option(
        '--config <file>',
        "a module whose default export is createSender's options (default: BESTNOTIFY_CONFIG)",
      ),
    )
    .addOption(
      new Option(
        '--allow-private-network <cidr>',
        'a private network that may be called at all, repeatable (default: BESTNOTIFY_ALLOW_PRIVATE_NETWORK)',
      ).argParser(collect),
    );
}

/** Who does it and why, for the audit. */
export function auditOptions(command: Command): void {
  command
    .option('--actor <name>', 'who does it, for the audit (default: BESTNOTIFY_ACTOR, else the name of the login)')
    .option('--note <text>', 'why, for the audit');
}

/** Secrets come from the environment or stdin: arguments can be read by every user of the machine. */
export function secretOptions(command: Command): void {
  command.option('--secret-stdin', 'read the secret from stdin instead of BESTNOTIFY_SECRET');
}
