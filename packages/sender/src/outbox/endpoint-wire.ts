import { checkEndpointAuth, checkEndpointHeaders, type EndpointAuth } from '../rules/endpoint-headers.js';
import { checkTlsSettings, type TlsSettings } from '../worker/tls-identity.js';
import type { Queryable } from './database.js';
import { quoteSchema } from './schema-name.js';
import type { Vault } from './vault.js';

/** What is added to an endpoint's requests and connections. Sealed as one text: credentials and private keys are in it. */
export interface WireSettings {
  /** Static headers: `x-…` names and a few others. */
  headers?: Readonly<Record<string, string>>;
  /** `{ bearer }` or `{ basic: { username, password } }`. */
  auth?: EndpointAuth;
  /** Own authorities, a client certificate, a minimum version. */
  tls?: TlsSettings;
}

/** The id under which the settings are sealed, in the place of a secret's. */
export const wireKeyId = 'wire';

/** @throws ConfigurationError naming the header, credential or TLS setting that cannot work. */
export function checkWire({ headers, auth, tls }: WireSettings): WireSettings {
  if (tls !== undefined) checkTlsSettings(tls);
  return {
    ...(headers !== undefined && { headers: checkEndpointHeaders(headers) }),
    ...(auth !== undefined && { auth: checkEndpointAuth(auth) }),
    ...(tls !== undefined && { tls }),
  };
}

/** Stores an endpoint's settings; without any, what was there is removed. */
export async function storeWire(
  tx: Queryable,
  context: { schema: string; source: string; vault: Vault },
  { key, endpoint, settings }: { key: string; endpoint: string; settings: WireSettings },
): Promise<void> {
  const name = quoteSchema(context.schema);
  if (Object.keys(settings).length === 0) {
    await tx.query(`delete from ${name}.endpoint_wire where endpoint_key = $1::text::bigint`, [key]);
    return;
  }
  const sealed = context.vault.seal(JSON.stringify(settings), { source: context.source, endpoint, keyId: wireKeyId });
  await tx.query(
    `insert into ${name}.endpoint_wire (endpoint_key, settings) values ($1::text::bigint, $2)
     on conflict (endpoint_key) do update set settings = excluded.settings`,
    [key, sealed],
  );
}
