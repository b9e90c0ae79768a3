import type { Role } from '@bestnotify/console';
import { Option } from 'commander';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { auditOf } from '../actor.js';
import { addCommand, connectionOptions } from '../command.js';
import { withSender, type ConnectionOptions } from '../connect.js';
import { wholeNumber } from '../input/parse-options.js';
import { createOneTimeLogin } from '../work/one-time-login.js';

interface Options extends ConnectionOptions {
  port: number;
  host: string;
  role: Role;
  actor?: string;
  json?: boolean;
}

export const serveConsole = addCommand<Options>({
  name: 'console',
  summary: 'Serve the web page for operators on this machine, with a login that works once',
  details:
    'Whoever opens the printed link first is signed in; a restart signs out. It speaks plain http, so leave it on loopback and ' +
    'reach it from elsewhere through an SSH tunnel. For a team, mount @bestnotify/console behind your own sign-in.',
  examples: [
    ['console', 'prints a link; Ctrl-C ends'],
    ['console --role reader --port 8080', 'without the right to act'],
  ],
  options: (command) => {
    connectionOptions(command);
    command
      .option('--port <port>', 'where to listen; 0 takes a free one', wholeNumber(0), 4780)
      .option('--host <address>', 'and on which address', '127.0.0.1')
      .addOption(
        new Option('--role <role>', 'what it may do').choices(['viewer', 'reader', 'operator']).default('operator'),
      )
      .option('--actor <name>', 'who it is, for the audit (default: BESTNOTIFY_ACTOR, else the name of the login)');
  },
  action: ({ terminal, interruption }, options) =>
    withSender(terminal.streams, options, async (sender) => {
      const { createConsole } = await import('@bestnotify/console');
      const login = createOneTimeLogin();
      const { actor = 'cli' } = auditOf(terminal.streams, options);
      const handle = createConsole({
        sender,
        authorize: (request) => (login.isSignedIn(request) ? { actor, role: options.role } : undefined),
      });
      const hosts = new Set<string>();
      const server = createServer((request, response) => {
        // A name that somebody else points at this address must not be able to speak for its page.
        if (!hosts.has(request.headers.host ?? '')) response.writeHead(421).end();
        else if (!login.answer(request, response)) handle(request, response);
      });
      server.listen(options.port, options.host);
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      for (const host of [options.host, 'localhost', '127.0.0.1', '[::1]']) hosts.add(`${host}:${port}`);
      const url = `http://${options.host}:${port}${login.path}`;
      await (options.json === true ? terminal.json({ url, role: options.role }) : terminal.print(`Open ${url}`));
      if (!interruption.signal.aborted) await once(interruption.signal, 'abort');
      server.close();
      server.closeAllConnections();
    }),
});
