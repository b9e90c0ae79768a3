import { arrayLiteral, booleanOf, intOrNull, textOf, textOrNull, type Queryable, type Row } from './database.js';
import type { EndpointAuth } from '../rules/endpoint-headers.js';
import type { TlsSettings } from '../wire/tls-identity.js';
import { openWire, type WireSettings } from './endpoint-wire.js';
import type { Vault } from './vault.js';
import { quoteSchema } from './schema-name.js';

/** What a worker needs to send to an endpoint. */
export interface EndpointSettings {
  key: string;
  /** Changes with every change of the row; keys and URLs of one revision are the same. */
  revision: string;
  id: string;
  url: string | null;
  ack: string;
  profile: 'v1' | 'body-hmac';
  policy: string | null;
  maxAttempts: number | null;
  allowHttp: boolean;
  /** CIDRs. */
  allowPrivateNetwork: readonly string[];
  /** Whether it gets the header `traceparent`. */
  traceparent: boolean;
  headers?: Readonly<Record<string, string>>;
  auth?: EndpointAuth;
  tls?: TlsSettings;
  /** Live secrets, oldest first. One that cannot be opened is left out. */
  secrets: readonly { id: string; secret: string }[];
}

/** Where settings come from. */
export interface EndpointSource {
  database: Queryable;
  schema: string;
  vault: Vault;
  onError: (during: string, error: unknown) => void;
}

/** The settings of some endpoints, by key; one that was removed is missing. */
async function loadEndpoints(source: EndpointSource, keys: readonly string[]): Promise<Map<string, EndpointSettings>> {
  const name = quoteSchema(source.schema);
  const rows = await source.database.query(
    `select e.key::text as key, e.xmin::text as revision, e.source, e.id, e.url, e.ack, e.profile, e.policy, e.max_attempts, e.allow_http, e.traceparent,
            array_to_json(e.allow_private_network)::text as networks,
            (select w.settings from ${name}.endpoint_wire w where w.endpoint_key = e.key) as wire,
            (select coalesce(json_agg(json_build_object('id', s.id, 'secret', s.secret) order by s.created_at, s.id), '[]')::text
               from ${name}.endpoint_secret s
              where s.endpoint_key = e.key and (s.retires_at is null or s.retires_at > now())) as secrets
       from ${name}.endpoint e
      where e.key = any ($1::text::bigint[])`,
    [arrayLiteral(keys)],
  );
  const endpoints = await Promise.all(rows.map((row) => settingsOf(source, row)));
  return new Map(endpoints.map((endpoint) => [endpoint.key, endpoint]));
}

async function settingsOf(source: EndpointSource, row: Row): Promise<EndpointSettings> {
  return {
    key: textOf(row, 'key'),
    revision: textOf(row, 'revision'),
    id: textOf(row, 'id'),
    url: textOrNull(row, 'url'),
    ack: textOf(row, 'ack'),
    profile: textOf(row, 'profile') as EndpointSettings['profile'],
    policy: textOrNull(row, 'policy'),
    maxAttempts: intOrNull(row, 'max_attempts'),
    allowHttp: booleanOf(row, 'allow_http'),
    allowPrivateNetwork: JSON.parse(textOf(row, 'networks')) as string[],
    traceparent: booleanOf(row, 'traceparent'),
    ...(await openSealed(source, row)),
  };
}

/** What is sealed: secrets, credentials, TLS keys. Where one cannot be opened nothing is sent: half of them would be worse. */
async function openSealed(
  { vault, onError }: EndpointSource,
  row: Row,
): Promise<WireSettings & Pick<EndpointSettings, 'secrets'>> {
  const place = { source: textOf(row, 'source'), endpoint: textOf(row, 'id') };
  try {
    const wire = textOrNull(row, 'wire');
    const settings = wire === null ? {} : openWire(vault, wire, place);
    if (vault.isResolving) return { ...settings, secrets: await vault.resolve(place) };
    const stored = JSON.parse(textOf(row, 'secrets')) as EndpointSettings['secrets'];
    return {
      ...settings,
      secrets: stored.map(({ id, secret }) => ({ id, secret: vault.open(secret, { ...place, keyId: id }) })),
    };
  } catch (error) {
    // Ours to mend: without a key nothing is sent, and nothing is charged.
    onError(`opening the secrets of endpoint ${place.endpoint}`, error);
    return { secrets: [] };
  }
}

const maxCached = 10_000;
/** A retired key stops signing at the latest after this, even if nothing else about its endpoint changes. */
const maxAgeMs = 30_000;

/**
 * Keeps settings until their row changes: the claim tells the row's revision, so a corrected URL or a new key counts
 * from the next claim on, without reading every endpoint for every batch.
 */
export class EndpointCache {
  readonly #source: EndpointSource;
  readonly #now: () => number;
  #cached = new Map<string, { settings: EndpointSettings; readAtMs: number }>();

  /** @param now - monotonic, in ms. */
  constructor(source: EndpointSource, now: () => number) {
    this.#source = source;
    this.#now = now;
  }

  /** The settings by key, for `wanted` as key and revision; an endpoint that was removed is missing. */
  async load(wanted: ReadonlyMap<string, string | null>): Promise<ReadonlyMap<string, EndpointSettings>> {
    const nowMs = this.#now();
    const found = new Map<string, EndpointSettings>();
    const stale: string[] = [];
    for (const [key, revision] of wanted) {
      const entry = this.#cached.get(key);
      if (entry?.settings.revision === revision && nowMs - entry.readAtMs < maxAgeMs) found.set(key, entry.settings);
      else if (revision !== null) stale.push(key);
    }
    if (stale.length > 0) {
      if (this.#cached.size > maxCached) this.#cached = new Map();
      for (const [key, settings] of await loadEndpoints(this.#source, stale)) {
        this.#cached.set(key, { settings, readAtMs: nowMs });
        found.set(key, settings);
      }
    }
    return found;
  }
}
