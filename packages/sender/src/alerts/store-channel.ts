import { generateSecret } from '@bestnotify/protocol';
import { everyNetwork, upsertEndpoint } from '../outbox/endpoint-columns.js';
import type { EndpointContext } from '../outbox/endpoints.js';
import { wireKeyId } from '../outbox/endpoint-wire.js';
import type { Queryable } from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';
import type { StoredChannel } from './alert-channel.js';
import { channelHeader, type ChannelSettings } from './deliver-alert.js';
import { ackOf } from './channel-acks.js';
import { alertSourceOf } from './reserved-source.js';

/** The endpoint of a merchant's own contact. No channel can have its name. */
export function contactIdOf(endpoint: string): string {
  return `contact:${endpoint}`;
}

/**
 * Stores a channel as an endpoint of the alerts' own source: claims, retries, health and attempts are those of every
 * notification. What is secret about it is sealed; the endpoint's own URL only says where, for the attempt log.
 */
export async function storeChannel(
  tx: Queryable,
  context: EndpointContext,
  { id, name, channel }: { id: string; name: string; channel: StoredChannel },
): Promise<void> {
  const own = { ...context, source: alertSourceOf(context.source) };
  const { allowHttp = false, allowPrivateNetwork = false } = 'url' in channel ? channel : {};
  const networks =
    typeof allowPrivateNetwork === 'boolean' ? (allowPrivateNetwork ? everyNetwork : []) : allowPrivateNetwork;
  const columns = {
    url: 'url' in channel ? `${new URL(channel.url).origin}/` : `${channel.kind}://`,
    ack: ackOf(channel),
    allow_http: allowHttp,
    allow_private_network: JSON.stringify(networks),
  };
  const key = await upsertEndpoint(tx, own, { id, columns });
  const name_ = quoteSchema(context.schema);
  const place = { source: own.source, endpoint: id };
  const settings = JSON.stringify({ name, channel } satisfies ChannelSettings);
  const wire = JSON.stringify({ headers: { [channelHeader]: settings } });
  await tx.query(
    `insert into ${name_}.endpoint_wire (endpoint_key, settings) values ($1::text::bigint, $2)
     on conflict (endpoint_key) do update set settings = excluded.settings`,
    [key, context.vault.seal(wire, { ...place, keyId: wireKeyId })],
  );
  // Every endpoint has a key. This one signs nothing that leaves the process.
  const throwaway = generateSecret();
  await tx.query(
    `insert into ${name_}.endpoint_secret (endpoint_key, id, secret, fingerprint)
     values ($1::text::bigint, 'own', $2, $3::bytea) on conflict (endpoint_key, id) do nothing`,
    [key, context.vault.seal(throwaway, { ...place, keyId: 'own' }), await context.fingerprint(tx, throwaway)],
  );
}

/** Removes a merchant's contact. What is still on its way there ends dead, and is told to nobody. */
export async function removeContact(
  tx: Queryable,
  context: Pick<EndpointContext, 'schema' | 'source'>,
  endpoint: string,
): Promise<void> {
  await tx.query(`delete from ${quoteSchema(context.schema)}.endpoint where source = $1 and id = $2`, [
    alertSourceOf(context.source),
    contactIdOf(endpoint),
  ]);
}
