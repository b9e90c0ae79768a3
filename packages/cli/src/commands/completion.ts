import { Argument, type Command } from 'commander';
import type { Register } from '../command.js';
import { describeCommands } from '../completion/describe-commands.js';
import { completionScript, type Shell } from '../completion/scripts.js';

/** Registered last: it describes all the others. */
export const completion: Register = (parent, run) => {
  const command: Command = parent
    .command('completion')
    .summary('Print a completion script for a shell')
    .description('Print a completion script for a shell.')
    .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
    .option('--json', 'print JSON, one value per line')
    .addHelpText(
      'after',
      `
Examples:
  $ bestnotify completion bash > /etc/bash_completion.d/bestnotify
  $ bestnotify completion zsh > "\${fpath[1]}/_bestnotify"
  $ bestnotify completion fish > ~/.config/fish/completions/bestnotify.fish`,
    );
  command.action((shell: Shell, { json }: { json?: boolean }) =>
    run(async ({ terminal }) => {
      const script = completionScript(shell, describeCommands(parent));
      await (json === true ? terminal.json({ shell, script }) : terminal.print(script.trimEnd()));
    }),
  );
};
