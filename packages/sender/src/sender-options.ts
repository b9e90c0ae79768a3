import { checkEnvelopeMember, type Logger } from '@bestnotify/protocol';
import type { AlertsOptions } from './alerts/alerts-options.js';
import type { TypeOptions } from './enqueue/notify.js';
import { ConfigurationError } from './errors.js';
import type { EndpointInput } from './outbox/endpoints.js';
import { checkList, checkObject } from './outbox/check-values.js';
import { checkWhole } from './options.js';
import { checkRetention, type Retention } from './outbox/operations/retention.js';
import type { DatabaseOption } from './outbox/open-database.js';
import { isPostgresUrl, type PostgresOptions } from './outbox/open-postgres.js';
import type { SecretStorageOptions } from './outbox/vault.js';
import { defaultSchema, quoteSchema } from './outbox/schema-name.js';
import {
  checkOwnPolicies,
  defaultPolicyName,
  maxAttemptsLimit,
  resolvePolicy,
  type PolicyRule,
} from './rules/policies.js';
import { defaultPorts, type UrlRules } from './rules/urls.js';
import { isAckRule, type AckFunction } from './worker/judge-response.js';

/** What holds for all notifications of a type. */
export interface TypeRules extends TypeOptions {
  /**
   * What giving up means: `compensate` tells operators, who make it good by hand or resend it; `abandon` tells nobody.
   *
   * @default 'compensate'
   */
  giveUp?: 'compensate' | 'abandon';
}

/** How a sender is set up. */
export interface SenderOptions {
  /** The platform, and its mode: `acme-pay` and `acme-pay-test` are two sources. 1 to 128 printable ASCII characters. */
  source: string;
  /** `postgres://…`, `pglite:<directory>`, or a drizzle database. @default DATABASE_URL, else 'pglite:.bestnotify' */
  database?: DatabaseOption;
  /** Where the tables live. @default 'bestnotify' */
  schema?: string;
  /** How the sender's own PostgreSQL connections behave. */
  postgres?: PostgresOptions;
  /** Retry policy where neither notification, type nor endpoint has one. @default 'alipay' */
  policy?: string;
  /** The platform's own retry policies, by name. */
  policies?: Readonly<Record<string, PolicyRule>>;
  /** What holds for all notifications of a type. */
  types?: Readonly<Record<string, TypeRules>>;
  /** The platform's own acknowledgement rules, by name. */
  acks?: Readonly<Record<string, AckFunction>>;
  /** How signing secrets are kept: sealed with a key, or resolved from a KMS. */
  secretStorage?: SecretStorageOptions;
  /** What endpoints get where they do not say otherwise. */
  endpointDefaults?: Omit<EndpointInput, 'id' | 'url' | 'secrets' | 'owner'>;
  /**
   * Private networks that may be called at all, as CIDRs; the endpoint must allow them as well. Loopback counts as private.
   *
   * @default [] none
   */
  allowPrivateNetwork?: readonly string[];
  /** Networks that must not be called, as CIDRs; wins over everything else. @default [] none */
  denyNetwork?: readonly string[];
  /** Ports that may be called; a pair is a range. @default [80, 443, [1024, 65535]] */
  allowedPorts?: NonNullable<UrlRules['allowedPorts']>;
  /** Who is told when something goes wrong. Left out, nobody is: then listen to the events. */
  alerts?: AlertsOptions;
  /** How long resident workers keep what is settled; `false` if something else calls `operations.prune`. @default {@link retentionDefaults} */
  retention?: Retention | false;
  /**
   * How workers in other processes hear of new notifications before their next poll: not at all, or by NOTIFY on a connection of its own.
   *
   * @default 'poll'
   */
  wakeUp?: 'poll' | 'notify';
  /** Where events are logged, in the shape of pino. Left out, nothing is; events can be heard with `on` all the same. */
  logger?: Logger;
}

export const senderDefaults = {
  schema: defaultSchema,
  policy: defaultPolicyName,
  wakeUp: 'poll',
} as const satisfies Partial<SenderOptions>;

/** @throws {@link ConfigurationError} naming the option and the fix. */
export function checkSenderOptions(
  options: SenderOptions,
): Required<Omit<SenderOptions, 'database' | 'logger' | 'alerts'>> {
  checkObject('options', options);
  const { source, schema = senderDefaults.schema, policy = senderDefaults.policy, policies = {} } = options;
  const { wakeUp = senderDefaults.wakeUp, types = {}, acks = {}, endpointDefaults = {} } = options;
  const { allowPrivateNetwork = [], denyNetwork = [], allowedPorts = defaultPorts } = options;
  const { postgres = {}, secretStorage = {}, retention = {} } = options;
  try {
    checkEnvelopeMember('source', source);
  } catch {
    throw new ConfigurationError({
      option: 'source',
      problem: `must be 1 to 128 printable ASCII characters without spaces (got ${JSON.stringify(source)})`,
      fix: "It names your platform in every notification, for example 'acme-pay'.",
    });
  }
  quoteSchema(schema);
  for (const [option, value] of Object.entries({ policies, types, acks, endpointDefaults, postgres, secretStorage })) {
    checkObject(option, value);
  }
  checkOwnPolicies(policies);
  resolvePolicy(policy, policies);
  if (!['poll', 'notify'].includes(wakeUp)) {
    throw new ConfigurationError({
      option: 'wakeUp',
      problem: `must be 'poll' or 'notify' (got ${JSON.stringify(wakeUp)})`,
    });
  }
  if (wakeUp === 'notify' && !isPostgresUrl(options.database ?? process.env['DATABASE_URL'])) {
    throw new ConfigurationError({
      option: 'wakeUp',
      problem: "'notify' needs a connection of its own",
      fix: "Give database as 'postgres://…', or keep 'poll'.",
    });
  }
  checkTypes(types, policies);
  checkAcks(acks);
  checkPorts(allowedPorts);
  checkPostgres(postgres);
  checkLogger(options.logger);
  if (retention !== false) {
    checkObject('retention', retention);
    checkRetention(retention, 'retention.');
  }
  return {
    ...{ source, schema, policy, policies, wakeUp, types, acks, endpointDefaults },
    ...{ allowPrivateNetwork, denyNetwork, allowedPorts, postgres, secretStorage, retention },
  };
}

/** The types whose dead nobody is told of. */
export function abandonedTypes(types: Readonly<Record<string, TypeRules>>): string[] {
  return Object.entries(types).flatMap(([type, { giveUp }]) => (giveUp === 'abandon' ? [type] : []));
}

function checkTypes(types: Readonly<Record<string, TypeRules>>, policies: Readonly<Record<string, PolicyRule>>): void {
  for (const [type, rules] of Object.entries(types)) {
    const option = `types.${type}`;
    checkObject(option, rules);
    const { policy, maxAttempts, lane, giveUp } = rules;
    if (policy !== undefined) resolvePolicy(policy, policies, `${option}.policy`);
    if (maxAttempts !== undefined) checkWhole(`${option}.maxAttempts`, maxAttempts, 1, maxAttemptsLimit);
    if (lane !== undefined && !['urgent', 'normal'].includes(lane)) {
      throw new ConfigurationError({
        option: `${option}.lane`,
        problem: `must be 'urgent' or 'normal' (got ${JSON.stringify(lane)})`,
      });
    }
    if (giveUp !== undefined && !['compensate', 'abandon'].includes(giveUp)) {
      throw new ConfigurationError({
        option: `${option}.giveUp`,
        problem: `must be 'compensate' or 'abandon' (got ${JSON.stringify(giveUp)})`,
      });
    }
  }
}

function checkAcks(acks: Readonly<Record<string, AckFunction>>): void {
  for (const [name, rule] of Object.entries(acks)) {
    const option = `acks.${name}`;
    if (isAckRule(name)) {
      throw new ConfigurationError({
        option,
        problem: 'has the name of a rule that everybody knows',
        fix: 'Choose another name.',
      });
    }
    if (typeof rule !== 'function') throw new ConfigurationError({ option, problem: 'must be a function' });
  }
}

function checkPorts(ports: NonNullable<UrlRules['allowedPorts']>): void {
  checkList('allowedPorts', ports, { what: 'ports and pairs such as [443, [8000, 8999]]' });
  for (const [index, port] of ports.entries()) {
    const [from, to] = Array.isArray(port) ? (port as readonly [number, number]) : [port as number, port as number];
    checkWhole(`allowedPorts[${index}]`, from, 1, 65_535);
    checkWhole(`allowedPorts[${index}]`, to, from, 65_535);
  }
}

function checkLogger(logger: Logger | undefined): void {
  const levels = ['debug', 'info', 'warn', 'error'] as const;
  if (
    logger !== undefined &&
    !levels.every((level) => typeof (logger as Partial<Logger> | null)?.[level] === 'function')
  ) {
    throw new ConfigurationError({
      option: 'logger',
      problem: `must have the methods ${levels.join(', ')}`,
      fix: 'Pass pino(), or console.',
    });
  }
}

function checkPostgres({ maxConnections, queryTimeoutMs, prepare }: PostgresOptions): void {
  if (prepare !== undefined && ![true, false, 'auto'].includes(prepare)) {
    throw new ConfigurationError({ option: 'postgres.prepare', problem: "must be true, false or 'auto'" });
  }
  if (maxConnections !== undefined) checkWhole('postgres.maxConnections', maxConnections, 1, 1_000);
  if (queryTimeoutMs !== undefined) checkWhole('postgres.queryTimeoutMs', queryTimeoutMs, 10, 3_600_000);
}
