import type { Command } from 'commander';

/** What can follow one chain of commands, for a shell. */
export interface Place {
  /** The words that lead here: `endpoints put`; empty for the program itself. */
  path: string;
  subcommands: readonly { name: string; summary: string }[];
  options: readonly { flag: string; summary: string; takesValue: boolean; choices: readonly string[] }[];
}

/** Every place of a program, the program itself first. */
export function describeCommands(command: Command, path: readonly string[] = []): Place[] {
  const visible = command.commands.filter((each) => each.name() !== 'help');
  const place: Place = {
    path: path.join(' '),
    subcommands: visible.map((each) => ({ name: each.name(), summary: each.summary() })),
    options: command.options.flatMap(({ long, description, required, optional, argChoices = [] }) =>
      long == null ? [] : [{ flag: long, summary: description, takesValue: required || optional, choices: argChoices }],
    ),
  };
  return [place, ...visible.flatMap((each) => describeCommands(each, [...path, each.name()]))];
}
