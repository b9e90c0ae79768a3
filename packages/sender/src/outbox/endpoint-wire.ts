import { checkEndpointAuth, checkEndpointHeaders, type EndpointAuth } from '../rules/endpoint-headers.js';
import { checkTlsSettings, type TlsSettings } from '../wire/tls-identity.js';
import { textOf, type Queryable } from './database.js';
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

/** Settings as they are given. Nobody can read them back, so one that is left out is kept; null takes it away. */
export type WireInput = { [Member in keyof WireSettings]: WireSettings[Member] | null };

/** The id under which the settings are sealed, in the place of a secret's. */
export const wireKeyId = 'wire';

const members = ['headers', 'auth', 'tls'] as const;

/** @throws ConfigurationError naming the header, credential or TLS setting that cannot work. */
export function checkWire({ headers, auth, tls }: WireInput): WireInput {
  if (tls != null) checkTlsSettings(tls);
  return {
    ...(headers !== undefined && { headers: headers && checkEndpointHeaders(headers) }),
    ...(auth !== undefined && { auth: auth && checkEndpointAuth(auth) }),
    ...(tls !== undefined && { tls }),
  };
}

/** Opens sealed settings. @throws SecretSealError */
export function openWire(vault: Vault, sealed: string, endpoint: { source: string; endpoint: string }): WireSettings {
  const stored = JSON.parse(vault.open(sealed, { ...endpoint, keyId: wireKeyId })) as WireInput;
  return Object.fromEntries(Object.entries(stored).filter(([, value]) => value !== null));
}

/**
 * Stores an endpoint's settings: what is given, else what it has, else the sender's defaults. A null is stored as well,
 * so that no default comes back in its place.
 *
 * @throws SecretSealError if one is kept that cannot be opened.
 */
export async function storeWire(
  tx: Queryable,
  context: { schema: string; source: string; vault: Vault },
  wire: { key: string; endpoint: string; given: WireInput; defaults: WireInput },
): Promise<void> {
  const name = quoteSchema(context.schema);
  const { key, endpoint, given, defaults } = wire;
  const place = { source: context.source, endpoint, keyId: wireKeyId };
  const isWhole = members.every((member) => given[member] !== undefined);
  const [row] = isWhole
    ? []
    : await tx.query(`select settings from ${name}.endpoint_wire where endpoint_key = $1::text::bigint`, [key]);
  const stored = row === undefined ? {} : (JSON.parse(context.vault.open(textOf(row, 'settings'), place)) as WireInput);
  const settings = { ...defaults, ...stored, ...given };
  if (members.every((member) => settings[member] == null && defaults[member] == null)) {
    await tx.query(`delete from ${name}.endpoint_wire where endpoint_key = $1::text::bigint`, [key]);
    return;
  }
  const sealed = context.vault.seal(JSON.stringify(settings), place);
  await tx.query(
    `insert into ${name}.endpoint_wire (endpoint_key, settings) values ($1::text::bigint, $2)
     on conflict (endpoint_key) do update set settings = excluded.settings`,
    [key, sealed],
  );
}
