import { ConfigurationError } from '../errors.js';
import { checkWhole } from '../options.js';
import type { PolicyRule } from '../rules/policies.js';
import type { UrlRules } from '../rules/urls.js';
import {
  booleanOf,
  intOf,
  intOrNull,
  textOf,
  textOrNull,
  type Database,
  type Queryable,
  type Row,
} from './database.js';
import { checkText, checkTexts } from './check-values.js';
import { checkId, columnsOf, upsertEndpoint } from './endpoint-columns.js';
import { SecretMismatchError, UnknownEndpointError } from './errors.js';
import { namedSecret, namedSecrets, recheckSecrets, storeSecrets } from './endpoint-secrets.js';
import { checkWire, storeWire, type WireInput } from './endpoint-wire.js';
import type { createFingerprinter } from './fingerprint.js';
import type { Vault } from './vault.js';
import { lockHealth } from './lock-health.js';
import { quoteSchema } from './schema-name.js';

/** Where one merchant receives. What nobody can read back is kept where it is left out: secrets, headers, credentials, TLS settings. */
export interface EndpointInput extends WireInput {
  /** The merchant's id: the signed audience `to` of every notification. 1 to 128 printable ASCII characters. */
  id: string;
  /** Where to POST. Leave out if every notification brings its own. https, unless `allowHttp`. */
  url?: string;
  /** Live signing secrets, at most 5, `whsec_…` or `whsk_…`; every attempt is signed with each. Left out, an existing endpoint keeps its own. */
  secrets?: readonly (string | { id: string; secret: string })[];
  /** Retry policy: a preset, one of the sender's own, or a rule. Left out, the sender's default. */
  policy?: string | PolicyRule;
  /** Charged attempts before a notification is given up. Left out, what the policy says. */
  maxAttempts?: number;
  /** How a reply counts as acknowledged: `success`, `status`, `json-code`, or a function the sender registered. @default 'success' */
  ack?: string;
  /** Most requests in flight to this endpoint from one worker. @default an eighth of the worker's concurrency */
  maxInFlight?: number;
  /** Most requests in flight to this endpoint from all workers together, exactly. Costs a transaction per claim; left out, no such limit. */
  maxInFlightEverywhere?: number;
  /** Most requests begun per second, from all workers together; up to one second's worth may come at once. Left out, no such limit. */
  maxPerSecond?: number;
  /** Whether plain http is allowed. @default false */
  allowHttp?: boolean;
  /** Private networks this endpoint may be in, as CIDRs, or `true` for all that the sender's own option allows. @default false */
  allowPrivateNetwork?: boolean | readonly string[];
  /** Wire profile; `body-hmac` only for merchants that cannot change. @default 'v1' */
  profile?: 'v1' | 'body-hmac';
  /**
   * Whether requests carry the W3C header `traceparent`, so that the merchant's spans join our trace. It says nothing but two random
   * numbers, yet to strangers. @default false
   */
  traceparent?: boolean;
  /** Endpoints of one owner may share a secret. */
  owner?: string;
}

/** What is stored of an endpoint. Secrets are never read back, only what identifies them. */
export interface Endpoint {
  id: string;
  url: string | null;
  ack: string;
  profile: 'v1' | 'body-hmac';
  /** A preset's name, or a rule as JSON; null means the sender's default. */
  policy: string | null;
  maxAttempts: number | null;
  maxInFlight: number | null;
  maxInFlightEverywhere: number | null;
  maxPerSecond: number | null;
  allowHttp: boolean;
  allowPrivateNetwork: readonly string[];
  traceparent: boolean;
  owner: string | null;
  /** Why it is held, or null. Held notifications are kept and not sent. */
  heldBecause: string | null;
  /** How long the breaker still keeps it parked, in ms; 0 means a probe is due, null that it is not parked. */
  parkedForMs: number | null;
  /** Failures in a row that count towards parking. */
  failures: number;
  secrets: readonly { id: string; fingerprint: string }[];
}

/** What endpoints need from the sender that owns them. */
export interface EndpointContext {
  database: Database;
  schema: string;
  source: string;
  defaults: Omit<EndpointInput, 'id' | 'url' | 'secrets' | 'owner'>;
  policies: Readonly<Record<string, PolicyRule>>;
  acks: readonly string[];
  fingerprint: ReturnType<typeof createFingerprinter>;
  vault: Vault;
  /** What the sender lets a URL be, for an endpoint that may be in these networks. */
  urlRules: (endpointAllows: readonly string[]) => Pick<UrlRules, 'allowedPorts' | 'addresses'>;
}

/**
 * Creates or replaces an endpoint. What `get` shows and the input leaves out goes back to its default.
 *
 * @throws EndpointUrlError for a URL that cannot be called.
 * @throws {@link SecretInUseError} if a secret is live on an endpoint of another owner.
 */
export async function putEndpoint(context: EndpointContext, given: EndpointInput): Promise<Endpoint> {
  const input = { ...context.defaults, ...given };
  checkId(input.id);
  const columns = columnsOf(context, input);
  const wire = { given: checkWire(given), defaults: checkWire(context.defaults) };
  const secrets = input.secrets === undefined ? undefined : namedSecrets(input.secrets, input.profile);
  return context.database.transaction(async (tx) => {
    const key = await upsertEndpoint(tx, context, { id: input.id, columns });
    await storeWire(tx, context, { key, endpoint: input.id, ...wire });
    const target = { key, endpoint: input.id, owner: input.owner ?? null };
    if (secrets === undefined) await recheckSecrets(tx, context, target);
    else await storeSecrets(tx, context, { ...target, secrets, isReplacing: true });
    const endpoint = await getEndpoint({ ...context, database: tx }, input.id);
    if (endpoint === undefined) throw new UnknownEndpointError({ endpoint: input.id, source: context.source });
    if (endpoint.secrets.length === 0 && !context.vault.isResolving) {
      throw new ConfigurationError({
        option: 'secrets',
        problem: `is missing for the new endpoint ${input.id}`,
        fix: 'generateSecret() makes one; give the same one to the merchant.',
      });
    }
    return endpoint;
  });
}

/** @returns undefined if there is no endpoint of that id. */
export async function getEndpoint(
  context: Pick<EndpointContext, 'schema' | 'source'> & { database: Queryable },
  id: string,
): Promise<Endpoint | undefined> {
  checkText('id', id);
  const [row] = await context.database.query(selectEndpoints(context.schema, 'where e.source = $1 and e.id = $2'), [
    context.source,
    id,
  ]);
  return row === undefined ? undefined : endpointOf(row);
}

/** This source's endpoints, or those of them that `ids` names, in the order of their ids, at most `limit` (1 to 10,000) after `after`. */
export async function listEndpoints(
  context: EndpointContext,
  { after = '', limit = 100, ids }: { after?: string; limit?: number; ids?: readonly string[] } = {},
): Promise<Endpoint[]> {
  checkText('after', after);
  checkTexts('ids', ids);
  checkWhole('limit', limit, 1, 10_000);
  const isMeant = `($4::text is null or e.id = any (array(select jsonb_array_elements_text($4::text::jsonb))))`;
  const rows = await context.database.query(
    `${selectEndpoints(context.schema, `where e.source = $1 and e.id > $2 and ${isMeant}`)} order by e.id limit $3::int4`,
    [context.source, after, limit, ids === undefined ? null : JSON.stringify(ids)],
  );
  return rows.map(endpointOf);
}

/**
 * Removes an endpoint and its secrets. What is still pending for it ends dead with the reason `endpoint-removed`.
 *
 * @returns false if there was none.
 */
export async function removeEndpoint(context: EndpointContext, id: string): Promise<boolean> {
  checkText('id', id);
  return context.database.transaction(async (tx) => {
    await lockHealth(tx, context, id);
    const rows = await tx.query(
      `delete from ${quoteSchema(context.schema)}.endpoint where source = $1 and id = $2 returning 1 as one`,
      [context.source, id],
    );
    return rows.length > 0;
  });
}

/**
 * Makes sure that the endpoint of a direct `{ to, url, secret }` exists, with that very secret.
 *
 * @param database - the sender's own connection; on a single-session database the caller's transaction.
 * @throws {@link SecretMismatchError} if it exists with another one.
 */
export async function ensureEndpoint(
  context: EndpointContext,
  database: Queryable,
  direct: { to: string; secret: string },
): Promise<void> {
  const { id, secret } = namedSecret(direct.secret, context.defaults.profile);
  const fingerprint = await context.fingerprint(database, secret);
  const known = await getEndpoint({ ...context, database }, direct.to);
  if (known === undefined) {
    const input = { ...context.defaults, id: direct.to };
    const key = await upsertEndpoint(database, context, {
      id: direct.to,
      columns: columnsOf(context, input),
      isNew: true,
    });
    if (key !== undefined) {
      await storeWire(database, context, { key, endpoint: direct.to, given: {}, defaults: checkWire(input) });
      await storeSecrets(database, context, {
        key,
        endpoint: direct.to,
        owner: null,
        secrets: [{ id, secret }],
        isReplacing: true,
      });
      return;
    }
  }
  const name = quoteSchema(context.schema);
  const rows = await database.query(
    `select 1 as one from ${name}.endpoint e join ${name}.endpoint_secret s on s.endpoint_key = e.key
      where e.source = $1 and e.id = $2 and s.fingerprint = $3::bytea and (s.retires_at is null or s.retires_at > now())`,
    [context.source, direct.to, fingerprint],
  );
  if (rows.length === 0) throw new SecretMismatchError({ endpoint: direct.to });
}

/**
 * Whether the endpoint of a direct exists with that very secret, as far as this transaction can see and may read.
 *
 * Asked first, in the caller's own transaction: its pool may be ours as well, and have no other connection to give.
 *
 * @throws {@link SecretMismatchError} if it exists with another secret.
 */
export async function isKnownDirect(
  context: EndpointContext,
  caller: Queryable,
  direct: { to: string; secret: string },
): Promise<boolean> {
  const { secret } = namedSecret(direct.secret, context.defaults.profile);
  // A role that may only enqueue: to try would abort its transaction.
  const [may] = await caller.query(
    `select 1 as one from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname in ('endpoint', 'endpoint_secret', 'setting') and c.relkind = 'r'
        and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')
     having count(*) = 3`,
    [context.schema],
  );
  if (may === undefined) return false;
  const name = quoteSchema(context.schema);
  const [row] = await caller.query(
    `select exists (select 1 from ${name}.endpoint_secret s where s.endpoint_key = e.key and s.fingerprint = $3::bytea
                       and (s.retires_at is null or s.retires_at > now())) as matches
       from ${name}.endpoint e where e.source = $1 and e.id = $2`,
    [context.source, direct.to, await context.fingerprint(caller, secret)],
  );
  if (row !== undefined && !booleanOf(row, 'matches')) throw new SecretMismatchError({ endpoint: direct.to });
  return row !== undefined;
}

function selectEndpoints(schema: string, where: string): string {
  const name = quoteSchema(schema);
  return `
select e.id, e.url, e.ack, e.profile, e.policy, e.max_attempts, e.max_in_flight, e.max_in_flight_everywhere, e.max_per_second::text as max_per_second, e.allow_http, e.traceparent, e.owner, e.held_because,
       case when h.parked_until is not null then (greatest(extract(epoch from h.parked_until - now()), 0) * 1000)::int4 end as parked_for_ms, coalesce(h.failures, 0) as failures,
       array_to_json(e.allow_private_network)::text as networks,
       (select coalesce(json_agg(json_build_object('id', s.id, 'fingerprint', left(encode(s.fingerprint, 'hex'), 8)) order by s.created_at, s.id), '[]')::text
          from ${name}.endpoint_secret s
         where s.endpoint_key = e.key and (s.retires_at is null or s.retires_at > now())) as secrets
  from ${name}.endpoint e left join ${name}.endpoint_health h on h.endpoint_key = e.key ${where}`;
}

function endpointOf(row: Row): Endpoint {
  return {
    id: textOf(row, 'id'),
    url: textOrNull(row, 'url'),
    ack: textOf(row, 'ack'),
    profile: textOf(row, 'profile') as Endpoint['profile'],
    policy: textOrNull(row, 'policy'),
    maxAttempts: intOrNull(row, 'max_attempts'),
    maxInFlight: intOrNull(row, 'max_in_flight'),
    maxInFlightEverywhere: intOrNull(row, 'max_in_flight_everywhere'),
    maxPerSecond: row['max_per_second'] === null ? null : Number(textOf(row, 'max_per_second')),
    allowHttp: booleanOf(row, 'allow_http'),
    allowPrivateNetwork: JSON.parse(textOf(row, 'networks')) as string[],
    traceparent: booleanOf(row, 'traceparent'),
    owner: textOrNull(row, 'owner'),
    heldBecause: textOrNull(row, 'held_because'),
    parkedForMs: intOrNull(row, 'parked_for_ms'),
    failures: intOf(row, 'failures'),
    secrets: JSON.parse(textOf(row, 'secrets')) as Endpoint['secrets'],
  };
}
