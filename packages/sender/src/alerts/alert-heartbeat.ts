import type { Hooks } from '../hooks.js';
import type { Queryable } from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';
import { everyNetwork } from '../outbox/endpoint-columns.js';
import type { Deliverer } from '../worker/deliver.js';
import type { ResolvedAlerts } from './alerts-options.js';
import { hideSecrets, secretsOf } from './hide-secrets.js';

/** What a beat needs. */
export interface HeartbeatParts {
  database: Queryable;
  schema: string;
  hooks: Hooks;
  deliverer: Deliverer;
  heartbeat: NonNullable<ResolvedAlerts['heartbeat']>;
}

/**
 * One beat: only when the outbox answers is the URL called. Whoever watches it learns of an outage that no alert could
 * tell, because alerts ride in the outbox.
 */
export async function beat(parts: HeartbeatParts, signal: AbortSignal): Promise<void> {
  const { database, schema, deliverer, heartbeat } = parts;
  await database.query(`select 1 as one from ${quoteSchema(schema)}.outbox limit 1`, []);
  const { url, allowHttp = false, allowPrivateNetwork = false } = heartbeat;
  const networks =
    typeof allowPrivateNetwork === 'boolean' ? (allowPrivateNetwork ? everyNetwork : []) : allowPrivateNetwork;
  const request = {
    ...{ url, allowHttp, allowPrivateNetwork: networks, tls: undefined },
    headers: { 'accept-encoding': 'identity' },
    body: Buffer.alloc(0),
  };
  const outcome = hideSecrets(await deliverer.deliver(request, { signal }), secretsOf({ kind: 'slack', url }));
  if (outcome.kind === 'aborted' || (outcome.kind === 'replied' && outcome.status < 400)) return;
  const problem = outcome.kind === 'replied' ? `it answered ${outcome.status}` : outcome.error;
  throw new Error(`The heartbeat did not arrive: ${problem}.`);
}
