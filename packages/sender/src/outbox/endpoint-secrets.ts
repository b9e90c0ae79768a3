import { parseSigningKey, signBody } from '@bestnotify/protocol';
import { ConfigurationError } from '../errors.js';
import { checkText } from './check-values.js';
import { textOf, type Queryable } from './database.js';
import type { EndpointContext } from './endpoints.js';
import { SecretInUseError } from './errors.js';
import { quoteSchema } from './schema-name.js';

/** Live keys per endpoint: each attempt carries a signature for every one of them. */
export const maxLiveSecrets = 5;

/** A secret and its id; an empty id is replaced by one made from the key, so that storing it again changes nothing. */
export interface NamedSecret {
  id: string;
  secret: string;
}

/** @throws SecretError (of the protocol), which names the first wrong character and never the secret. */
export function namedSecret(given: string | NamedSecret, profile: 'v1' | 'body-hmac' = 'v1'): NamedSecret {
  const named = typeof given === 'string' ? { id: '', secret: given } : { ...given };
  checkText('secrets.secret', named.secret);
  checkText('secrets.id', named.id, 128);
  if (profile === 'v1') parseSigningKey(named.secret);
  else signBody(Buffer.alloc(0), named.secret); // its key is a plain string, and never one of the other profile
  return named;
}

/** @throws {@link ConfigurationError} unless they are 1 to 5, and SecretError for the first that cannot be read. */
export function namedSecrets(given: readonly (string | NamedSecret)[], profile?: 'v1' | 'body-hmac'): NamedSecret[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > maxLiveSecrets) {
    throw new ConfigurationError({ option: 'secrets', problem: `must hold 1 to ${maxLiveSecrets} secrets` });
  }
  return (given as readonly (string | NamedSecret)[]).map((secret) => namedSecret(secret, profile));
}

/**
 * Stores secrets of an endpoint, sealed when the sender has a key for that.
 *
 * @param change.isReplacing - whether those that are not among them are removed.
 * @returns the ids under which they are stored.
 * @throws {@link SecretInUseError} if one is live on an endpoint of another owner.
 */
export async function storeSecrets(
  tx: Queryable,
  context: Pick<EndpointContext, 'schema' | 'source' | 'fingerprint' | 'vault'>,
  change: {
    key: string;
    endpoint: string;
    owner: string | null;
    secrets: readonly NamedSecret[];
    isReplacing: boolean;
  },
): Promise<string[]> {
  const name = quoteSchema(context.schema);
  const rows: { id: string; secret: string; fingerprint: string }[] = [];
  for (const { id: givenId, secret } of change.secrets) {
    const fingerprint = (await context.fingerprint(tx, secret)).toString('hex');
    const id = givenId === '' ? fingerprint.slice(0, 8) : givenId;
    const twin = rows.find((row) => row.id === id);
    if (twin?.fingerprint === fingerprint) continue; // given twice
    if (twin !== undefined) {
      throw new ConfigurationError({ option: 'secrets', problem: `holds two secrets of the id ${JSON.stringify(id)}` });
    }
    const place = { source: context.source, endpoint: change.endpoint, keyId: id };
    rows.push({ id, secret: context.vault.seal(secret, place), fingerprint });
  }
  const json = JSON.stringify(rows);
  const input = `jsonb_to_recordset($1::text::jsonb) as i(id text, secret text, fingerprint text)`;
  await refuseShared(tx, context, { ...change, fingerprints: rows.map((row) => row.fingerprint).sort() });
  if (change.isReplacing) {
    await tx.query(
      `delete from ${name}.endpoint_secret where endpoint_key = $2::text::bigint and id not in (select i.id from ${input})`,
      [json, change.key],
    );
  }
  await tx.query(
    `insert into ${name}.endpoint_secret (endpoint_key, id, secret, fingerprint)
     select $2::text::bigint, i.id, i.secret, decode(i.fingerprint, 'hex') from ${input}
     on conflict (endpoint_key, id) do update set secret = excluded.secret, fingerprint = excluded.fingerprint, retires_at = null`,
    [json, change.key],
  );
  return rows.map((row) => row.id);
}

/**
 * Checks the secrets that an endpoint keeps: it may have left the owner that it shares them with.
 *
 * @throws {@link SecretInUseError} if one is live on an endpoint of another owner.
 */
export async function recheckSecrets(
  tx: Queryable,
  context: Pick<EndpointContext, 'schema'>,
  kept: { key: string; endpoint: string; owner: string | null },
): Promise<void> {
  const rows = await tx.query(
    `select encode(fingerprint, 'hex') as fingerprint from ${quoteSchema(context.schema)}.endpoint_secret
      where endpoint_key = $1::text::bigint and (retires_at is null or retires_at > now()) order by fingerprint`,
    [kept.key],
  );
  await refuseShared(tx, context, { ...kept, fingerprints: rows.map((row) => textOf(row, 'fingerprint')) });
}

async function refuseShared(
  tx: Queryable,
  { schema }: Pick<EndpointContext, 'schema'>,
  secrets: { key: string; endpoint: string; owner: string | null; fingerprints: readonly string[] },
): Promise<void> {
  const name = quoteSchema(schema);
  const json = JSON.stringify(secrets.fingerprints);
  const input = `jsonb_array_elements_text($1::text::jsonb) as i(fingerprint)`;
  // Two endpoints that take the same secret at once must see each other: they queue on the secret, in one order.
  await tx.query(`select pg_advisory_xact_lock(hashtextextended(i.fingerprint, 0)) from ${input}`, [json]);
  const [other] = await tx.query(
    `select e.id from ${name}.endpoint_secret s join ${name}.endpoint e on e.key = s.endpoint_key join ${input} on decode(i.fingerprint, 'hex') = s.fingerprint
      where s.endpoint_key <> $2::text::bigint and (s.retires_at is null or s.retires_at > now())
        and (e.owner is null or e.owner is distinct from $3::text) limit 1`,
    [json, secrets.key, secrets.owner],
  );
  if (other !== undefined) {
    throw new SecretInUseError({ endpoint: secrets.endpoint, otherEndpoint: textOf(other, 'id') });
  }
}
