import type { Endpoint } from '@bestnotify/sender';
import { addCommand, connectionOptions } from '../../command.js';
import { withSender, type ConnectionOptions } from '../../connect.js';
import { renderTable } from '../../output/table.js';

interface Options extends ConnectionOptions {
  json?: boolean;
}

const pageSize = 200;

export const listEndpoints = addCommand<Options>({
  name: 'list',
  summary: 'List endpoints',
  examples: [['endpoints list', 'where each merchant receives, and whether it is held or parked']],
  options: connectionOptions,
  action: ({ terminal }, options) =>
    withSender(terminal.streams, options, async (sender) => {
      let after = '';
      let page: Endpoint[];
      do {
        page = await sender.endpoints.list({ limit: pageSize, after });
        after = page.at(-1)?.id ?? '';
        if (options.json === true) for (const endpoint of page) await terminal.json(endpoint);
        else if (page.length > 0) await terminal.print(renderTable(terminal, heading, page.map(lineOf)));
      } while (page.length === pageSize && !terminal.isClosed);
    }),
});

const heading = ['ID', 'STATE', 'URL', 'POLICY', 'ACK', 'FAILURES', 'SECRETS'];

function lineOf(endpoint: Endpoint) {
  const { id, url, policy, ack, failures, secrets } = endpoint;
  return [id, stateOf(endpoint), url, policy, ack, failures, secrets.map(({ fingerprint }) => fingerprint).join(' ')];
}

export function stateOf({ heldBecause, parkedForMs }: Endpoint): string {
  if (heldBecause !== null) return `held (${heldBecause})`;
  return parkedForMs === null ? 'open' : `parked for ${Math.ceil(parkedForMs / 1000)} s`;
}
