import type { Endpoint, Sender } from '@bestnotify/sender';
import { addCommand, connectionOptions } from '../../command.js';
import { withSender, type ConnectionOptions } from '../../connect.js';
import { UsageError } from '../../errors.js';
import { renderFacts } from '../../output/table.js';
import type { Terminal } from '../../output/terminal.js';
import { stateOf } from './list.js';

interface Options extends ConnectionOptions {
  json?: boolean;
}

export const showEndpoint = addCommand<Options>({
  name: 'show <id>',
  summary: 'Show one endpoint; of its secrets only what identifies them',
  examples: [['endpoints show merchant-42 --json', 'its settings, for a program']],
  options: connectionOptions,
  action: ({ terminal }, options, [id = '']) =>
    withSender(terminal.streams, options, async (sender) => {
      const endpoint = await existingEndpoint(sender, id);
      await (options.json === true ? terminal.json(endpoint) : terminal.print(renderEndpoint(terminal, endpoint)));
    }),
});

/** @throws {@link UsageError} if there is none. */
async function existingEndpoint(sender: Sender, id: string): Promise<Endpoint> {
  const endpoint = await sender.endpoints.get(id);
  if (endpoint !== undefined) return endpoint;
  throw new UsageError({
    option: 'id',
    problem: `${JSON.stringify(id)} is no endpoint of source ${sender.source}`,
    fix: 'See bestnotify endpoints list.',
  });
}

export function renderEndpoint(terminal: Terminal, endpoint: Endpoint): string {
  return renderFacts(terminal, [
    ['id', endpoint.id],
    ['state', stateOf(endpoint)],
    ['url', endpoint.url],
    ['policy', endpoint.policy ?? "the sender's"],
    ['attempts at most', endpoint.maxAttempts],
    ['acknowledged by', endpoint.ack],
    ['profile', endpoint.profile],
    ['in flight at most', endpoint.maxInFlight],
    ['in flight everywhere', endpoint.maxInFlightEverywhere],
    ['per second at most', endpoint.maxPerSecond],
    ['plain http', endpoint.allowHttp],
    ['private networks', endpoint.allowPrivateNetwork.join(' ')],
    ['traceparent', endpoint.traceparent],
    ['owner', endpoint.owner],
    ['failures in a row', endpoint.failures],
    ['secrets', endpoint.secrets.map(({ id, fingerprint }) => `${id} ${fingerprint}`).join(', ')],
  ]);
}
