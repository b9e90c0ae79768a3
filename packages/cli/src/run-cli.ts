import { systemClock } from '@bestnotify/protocol';
import { CommanderError, type Command, type OutputConfiguration } from 'commander';
import { buildProgram } from './build-program.js';
import type { Runner } from './command.js';
import { exitCodes } from './exit-codes.js';
import { createInterruption } from './interruption.js';
import { inOwnWords } from './output/in-own-words.js';
import { printableJson } from './output/printable.js';
import { createTerminal, type Streams, type Terminal } from './output/terminal.js';

/**
 * Runs one command line and resolves with its exit code, when everything it printed has been taken.
 *
 * @param args - without the names of Node and of the script.
 */
export async function runCli(args: readonly string[], streams: Streams): Promise<number> {
  const terminal = createTerminal(streams);
  const interruption = createInterruption(process);
  let code: number = exitCodes.fine;
  const run: Runner = async (work) => {
    const done = await work({ terminal, now: systemClock, interruption });
    if (typeof done === 'number') code = done;
  };
  const program = buildProgram(run, systemClock);
  const written: Promise<void>[] = [];
  const isJson = args.includes('--json');
  configure(program, {
    writeOut: (text) => written.push(terminal.print(text.trimEnd())),
    // With --json an error is one line of JSON, those about usage too; commander's own words come with the error.
    writeErr: (text) => {
      if (!isJson) streams.stderr.write(text);
    },
    outputError: (text, write) => write(text.replace('\n', ' (CLI_USAGE)\n')),
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    code = tellError(error, terminal, isJson);
  } finally {
    await Promise.all(written);
    interruption.dispose();
  }
  return code;
}

function configure(command: Command, output: OutputConfiguration): void {
  command.exitOverride().configureOutput(output);
  for (const each of command.commands) configure(each, output);
}

/** One line, or one line of JSON. What is wrong with the usage commander has said already, unless JSON is wanted. */
function tellError(error: unknown, terminal: Terminal, isJson: boolean): number {
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, '');
    if (isJson && error.exitCode !== 0) tellJson(terminal, 'CLI_USAGE', message);
    return error.exitCode;
  }
  const { code } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown };
  const message = inOwnWords(messageOf(error));
  const name = typeof code === 'string' ? code : 'CLI_UNEXPECTED';
  if (isJson) tellJson(terminal, name, message);
  else terminal.note(`bestnotify: ${message} (${name})`);
  return exitCodes.failed;
}

function tellJson(terminal: Terminal, code: string, message: string): void {
  terminal.streams.stderr.write(`${printableJson({ error: { code, message } })}\n`);
}

function messageOf(error: unknown): string {
  // Two addresses of one name, both refused: the first says enough.
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  return inner instanceof Error && inner.message !== '' ? inner.message : String(inner);
}
