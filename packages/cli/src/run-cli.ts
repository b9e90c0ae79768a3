import { systemClock } from '@bestnotify/protocol';
import { CommanderError, type Command } from 'commander';
import { buildProgram } from './build-program.js';
import type { Runner } from './command.js';
import { exitCodes } from './exit-codes.js';
import { createInterruption } from './interruption.js';
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
  configure(program, {
    writeOut: (text) => written.push(terminal.print(text.trimEnd())),
    writeErr: (text) => void streams.stderr.write(text),
  });
  try {
    await program.parseAsync([...args], { from: 'user' });
  } catch (error) {
    code = tellError(error, terminal, args.includes('--json'));
  } finally {
    await Promise.all(written);
    interruption.dispose();
  }
  return code;
}

function configure(
  command: Command,
  output: { writeOut: (text: string) => void; writeErr: (text: string) => void },
): void {
  command.exitOverride().configureOutput(output);
  for (const each of command.commands) configure(each, output);
}

/** Commander has said what was wrong already; everything else is one line, or one line of JSON. */
function tellError(error: unknown, terminal: Terminal, isJson: boolean): number {
  if (error instanceof CommanderError) return error.exitCode;
  const { code } = (typeof error === 'object' && error !== null ? error : {}) as { code?: unknown };
  const message = messageOf(error);
  const name = typeof code === 'string' ? code : 'CLI_UNEXPECTED';
  if (isJson) terminal.streams.stderr.write(`${printableJson({ error: { code: name, message } })}\n`);
  else terminal.note(`bestnotify: ${message} (${name})`);
  return exitCodes.failed;
}

function messageOf(error: unknown): string {
  // Two addresses of one name, both refused: the first says enough.
  const inner: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  return inner instanceof Error && inner.message !== '' ? inner.message : String(inner);
}
