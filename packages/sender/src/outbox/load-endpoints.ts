import { booleanOf, intOrNull, arrayLiteral, textOf, textOrNull, type Queryable } from './database.js';
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
  /** Live secrets, oldest first. */
  secrets: readonly { id: string; secret: string }[];
}

/** The settings of some endpoints, by key; one that was removed is missing. */
export async function loadEndpoints(
  database: Queryable,
  schema: string,
  keys: readonly string[],
): Promise<Map<string, EndpointSettings>> {
  const name = quoteSchema(schema);
  const rows = await database.query(
    `select e.key::text as key, e.xmin::text as revision, e.id, e.url, e.ack, e.profile, e.policy, e.max_attempts, e.allow_http,
            array_to_json(e.allow_private_network)::text as networks,
            (select coalesce(json_agg(json_build_object('id', s.id, 'secret', s.secret) order by s.created_at, s.id), '[]')::text
               from ${name}.endpoint_secret s
              where s.endpoint_key = e.key and (s.retires_at is null or s.retires_at > now())) as secrets
       from ${name}.endpoint e
      where e.key = any ($1::text::bigint[])`,
    [arrayLiteral(keys)],
  );
  const endpoints = rows.map((row) => ({
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
    secrets: JSON.parse(textOf(row, 'secrets')) as EndpointSettings['secrets'],
  }));
  return new Map(endpoints.map((endpoint) => [endpoint.key, endpoint]));
}

const maxCached = 10_000;
/** A retired key stops signing at the latest after this, even if nothing else about its endpoint changes. */
const maxAgeMs = 30_000;

/**
 * Keeps settings until their row changes: the claim tells the row's revision, so a corrected URL or a new key counts
 * from the next claim on, without reading every endpoint for every batch.
 */
export class EndpointCache {
  readonly #database: Queryable;
  readonly #schema: string;
  readonly #now: () => number;
  #cached = new Map<string, { settings: EndpointSettings; readAtMs: number }>();

  /** @param now - monotonic, in ms. */
  constructor(database: Queryable, schema: string, now: () => number) {
    this.#database = database;
    this.#schema = schema;
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
      for (const [key, settings] of await loadEndpoints(this.#database, this.#schema, stale)) {
        this.#cached.set(key, { settings, readAtMs: nowMs });
        found.set(key, settings);
      }
    }
    return found;
  }
}
