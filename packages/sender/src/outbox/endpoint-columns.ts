import { checkEnvelopeMember, isProtocolError } from '@bestnotify/protocol';
import { ConfigurationError } from '../errors.js';
import { parseNetworks } from '../rules/addresses.js';
import { checkWhole } from '../options.js';
import { maxAttemptsLimit, resolvePolicy } from '../rules/policies.js';
import { checkEndpointUrl } from '../rules/urls.js';
import { checkFlag, checkNumber, checkOptionalText, checkTexts } from './check-values.js';
import { textOf, type Parameter, type Queryable } from './database.js';
import type { EndpointContext, EndpointInput } from './endpoints.js';
import { quoteSchema } from './schema-name.js';

/** An endpoint that allows every private network is in those that the sender allows. */
export const everyNetwork = ['0.0.0.0/0', '::/0'];

/**
 * The columns that an input makes.
 *
 * @throws {@link ConfigurationError} or EndpointUrlError naming what cannot work.
 */
export function columnsOf(context: EndpointContext, input: Omit<EndpointInput, 'secrets'>): Record<string, Parameter> {
  const { ack = 'success', allowHttp = false, allowPrivateNetwork = false, profile = 'v1' } = input;
  if (!['success', 'status', 'json-code', ...context.acks].includes(ack)) {
    throw new ConfigurationError({
      option: 'ack',
      problem: `names no rule: ${JSON.stringify(ack)}`,
      fix: 'Use success, status or json-code, or register the function in the sender option acks.',
    });
  }
  checkOptionalText('owner', input.owner);
  checkFlag('allowHttp', allowHttp);
  if (!['v1', 'body-hmac'].includes(profile)) {
    throw new ConfigurationError({ option: 'profile', problem: "must be 'v1' or 'body-hmac'" });
  }
  checkCount('maxAttempts', input.maxAttempts, maxAttemptsLimit);
  checkCount('maxInFlight', input.maxInFlight);
  checkCount('maxInFlightEverywhere', input.maxInFlightEverywhere);
  if (input.maxPerSecond !== undefined) checkNumber('maxPerSecond', input.maxPerSecond, 0.001, 10_000);
  if (typeof allowPrivateNetwork !== 'boolean') checkTexts('allowPrivateNetwork', allowPrivateNetwork);
  const networks =
    typeof allowPrivateNetwork === 'boolean' ? (allowPrivateNetwork ? everyNetwork : []) : allowPrivateNetwork;
  parseNetworks(networks, 'allowPrivateNetwork');
  return {
    url: input.url === undefined ? null : checkEndpointUrl(input.url, { allowHttp, ...context.urlRules(networks) }),
    ack,
    profile,
    policy: input.policy === undefined ? null : resolvePolicy(input.policy, context.policies).text,
    max_attempts: input.maxAttempts ?? null,
    max_in_flight: input.maxInFlight ?? null,
    max_in_flight_everywhere: input.maxInFlightEverywhere ?? null,
    max_per_second: input.maxPerSecond ?? null,
    allow_http: allowHttp,
    allow_private_network: JSON.stringify(networks),
    traceparent: input.traceparent ?? false,
    owner: input.owner ?? null,
  };
}

/** What `notify` would refuse as an audience must not be stored as one. */
export function checkId(id: string): void {
  try {
    checkEnvelopeMember('to', id);
  } catch (cause) {
    if (!isProtocolError(cause)) throw cause;
    throw new ConfigurationError({
      option: 'id',
      problem: `must be 1 to 128 printable ASCII characters without spaces (got ${JSON.stringify(id)})`,
    });
  }
}

function checkCount(option: string, value: number | undefined, most = 10_000): void {
  if (value !== undefined) checkWhole(option, value, 1, most);
}

/** Writes an endpoint's row and makes its health row; `isNew` leaves one alone that exists already. @returns its key. */
export async function upsertEndpoint(
  tx: Queryable,
  context: EndpointContext,
  endpoint: { id: string; columns: Record<string, Parameter>; isNew: true },
): Promise<string | undefined>;
export async function upsertEndpoint(
  tx: Queryable,
  context: EndpointContext,
  endpoint: { id: string; columns: Record<string, Parameter> },
): Promise<string>;
export async function upsertEndpoint(
  tx: Queryable,
  context: EndpointContext,
  endpoint: { id: string; columns: Record<string, Parameter>; isNew?: true },
): Promise<string | undefined> {
  const names = Object.keys(endpoint.columns);
  const values = names.map((name, index) =>
    name === 'allow_private_network'
      ? `array(select jsonb_array_elements_text($${index + 3}::text::jsonb))`
      : `$${index + 3}::${typesOf[name] ?? 'text'}`,
  );
  const onConflict =
    endpoint.isNew === true
      ? 'do nothing'
      : `do update set updated_at = now(), ${names.map((name) => `${name} = excluded.${name}`).join(', ')}`;
  const name = quoteSchema(context.schema);
  const [row] = await tx.query(
    `with put as (
       insert into ${name}.endpoint as e (source, id, ${names.join(', ')})
       values ($1, $2, ${values.join(', ')}) on conflict (source, id) ${onConflict} returning e.key
     ), health as (
       insert into ${name}.endpoint_health (endpoint_key) select key from put on conflict do nothing
     )
     select key::text as key from put`,
    [context.source, endpoint.id, ...Object.values(endpoint.columns)],
  );
  return row === undefined ? undefined : textOf(row, 'key');
}

const typesOf: Readonly<Record<string, string>> = {
  max_attempts: 'int4',
  max_in_flight: 'int4',
  max_in_flight_everywhere: 'int4',
  max_per_second: 'float8',
  allow_http: 'boolean',
  traceparent: 'boolean',
};
