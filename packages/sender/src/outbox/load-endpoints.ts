import { booleanOf, intOrNull, arrayLiteral, textOf, textOrNull, type Queryable } from './database.js';
import { quoteSchema } from './schema-name.js';

/** What a worker needs to send to an endpoint. Read anew for each batch: a corrected URL or key counts at once. */
export interface EndpointSettings {
  key: string;
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
    `select e.key::text as key, e.id, e.url, e.ack, e.profile, e.policy, e.max_attempts, e.allow_http,
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
