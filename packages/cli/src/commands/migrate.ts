import { addCommand, connectionOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';

interface Options extends ConnectionOptions {
  print?: boolean;
  json?: boolean;
}

export const migrate = addCommand<Options>({
  name: 'migrate',
  summary: 'Create the tables, or bring them up to this release',
  examples: [
    ['migrate', 'applies what is missing; safe to repeat, and from several hosts at once'],
    ['migrate --print > outbox.sql', 'prints the SQL and changes nothing'],
  ],
  options: (command) => {
    connectionOptions(command);
    command.option('--print', 'print the SQL instead of applying it');
  },
  // The tables are the same for every source, so none has to be named here.
  action: ({ terminal }, options) =>
    withSender(terminal.streams, { source: 'every-source', ...options }, async (sender) => {
      if (options.print === true) {
        const sql = sender.printMigrations();
        await (options.json === true ? terminal.json({ sql }) : terminal.print(sql.trimEnd()));
        return;
      }
      const applied = await sender.migrate();
      if (options.json === true) await terminal.json({ applied });
      else await terminal.print(applied.length === 0 ? 'Nothing to do.' : `Applied version ${applied.join(', ')}.`);
    }),
});
