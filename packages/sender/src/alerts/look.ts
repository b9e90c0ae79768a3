import { enqueue } from '../enqueue/enqueue.js';
import { booleanOf, textOf, type Queryable } from '../outbox/database.js';
import type { EndpointContext } from '../outbox/endpoints.js';
import { UnknownEndpointError } from '../outbox/errors.js';
import { quoteSchema } from '../outbox/schema-name.js';
import type { AlertKind } from './alert.js';
import type { ResolvedAlerts } from './alerts-options.js';
import { collectDead } from './collect-dead.js';
import { collectEndpoints, collectOverdue } from './collect-endpoints.js';
import { gather, nextWindowMs, type AlertEvent } from './digest.js';
import { beginWindow, operators, readDigests, writePending, type Digest } from './read-digests.js';
import { alertSourceOf } from './reserved-source.js';
import { contactIdOf, storeChannel } from './store-channel.js';
import { alertOf, notificationOf } from './write-alert.js';

/** What looking through the outbox needs. */
export interface LookParts {
  endpoints: EndpointContext;
  options: ResolvedAlerts;
  /** Types whose dead nobody is told of. */
  abandoned: readonly string[];
  nowMs: () => number;
}

/** Kinds that a merchant's own contact is told of. */
const contactKinds: ReadonlySet<AlertKind> = new Set(['dead', 'parked', 'disabled']);

/**
 * Looks for what operators should hear of, and enqueues alerts whose window is open: one transaction, so that nothing is
 * told twice or lost, whenever a process ends. One process at a time: the others go away at once.
 *
 * @param heard - what the events of this process said.
 * @returns how many notifications were enqueued; undefined if another process is looking, and `heard` was not written down.
 */
export function look(parts: LookParts, heard: readonly AlertEvent[]): Promise<number | undefined> {
  const { endpoints, options, abandoned } = parts;
  return endpoints.database.transaction(async (tx) => {
    const [lock] = await tx.query(
      `select pg_try_advisory_xact_lock(hashtextextended('bestnotify alerts ' || $1 || ' ' || $2, 0)) as mine`,
      [endpoints.schema, endpoints.source],
    );
    if (lock === undefined || !booleanOf(lock, 'mine')) return undefined;
    const overdue = { kind: 'overdue', audience: operators } as const;
    const [late] = await readDigests(tx, endpoints, [overdue]);
    const events = [
      ...(await collectDead(tx, endpoints, abandoned)),
      ...(await collectEndpoints(tx, endpoints)),
      // It is a state, not an event: only how it is when it can be told counts.
      ...(late === undefined || late.openForMs >= 0 ? await collectOverdue(tx, endpoints, options.overdueMs) : []),
      ...heard,
    ];
    await record(tx, parts, events);
    return tell(tx, parts);
  });
}

async function record(tx: Queryable, { endpoints, options }: LookParts, events: readonly AlertEvent[]): Promise<void> {
  if (events.length === 0) return;
  const contacts = await contactsAmong(tx, endpoints, events);
  const byDigest = new Map<string, { kind: AlertKind; audience: string; events: AlertEvent[] }>();
  const add = (event: AlertEvent, audience: string) => {
    const key = `${event.kind} ${audience}`;
    const digest = byDigest.get(key) ?? { kind: event.kind, audience, events: [] };
    byDigest.set(key, digest);
    digest.events.push(event);
  };
  for (const event of events) {
    if (options.kinds.includes(event.kind)) add(event, operators);
    if (event.endpoint !== null && contactKinds.has(event.kind) && contacts.has(event.endpoint))
      add(event, event.endpoint);
  }
  const wanted = [...byDigest.values()];
  const known = await readDigests(
    tx,
    endpoints,
    wanted.map(({ kind, audience }) => ({ kind, audience })),
  );
  const pendingOf = new Map(known.map(({ kind, audience, pending }) => [`${kind} ${audience}`, pending]));
  const gathered = wanted.map(({ kind, audience, events: own }) => ({
    ...{ kind, audience },
    pending: gather(pendingOf.get(`${kind} ${audience}`), own),
  }));
  await writePending(tx, endpoints, gathered);
}

/** Of the endpoints in these events those that have a contact. */
async function contactsAmong(
  tx: Queryable,
  { schema, source }: EndpointContext,
  events: readonly AlertEvent[],
): Promise<Set<string>> {
  const ids = [
    ...new Set(events.flatMap(({ kind, endpoint }) => (endpoint !== null && contactKinds.has(kind) ? [endpoint] : []))),
  ];
  if (ids.length === 0) return new Set();
  const rows = await tx.query(
    `select substring(e.id from length('${contactIdOf('')}') + 1) as id from ${quoteSchema(schema)}.endpoint e
      where e.source = $1 and e.id = any (array(select jsonb_array_elements_text($2::text::jsonb)))`,
    [alertSourceOf(source), JSON.stringify(ids.map(contactIdOf))],
  );
  return new Set(rows.map((row) => textOf(row, 'id')));
}

async function tell(tx: Queryable, parts: LookParts): Promise<number> {
  const { endpoints, options, nowMs } = parts;
  let told = 0;
  for (const digest of await readDigests(tx, endpoints, 'open')) {
    const windowMs = nextWindowMs(digest, options);
    const alert = alertOf(endpoints.source, digest, windowMs);
    const notifications = audienceOf(digest, options).map((channel) =>
      notificationOf(alert, { ...channel, policy: options.policy }, { nowMs: nowMs() }),
    );
    told += notifications.length;
    if (digest.audience === operators) await enqueueSure(tx, parts, notifications);
    else if (await hasContact(tx, endpoints, digest.audience)) await enqueue(tx, endpoints.schema, notifications);
    await beginWindow(tx, endpoints, { ...digest, windowMs });
  }
  return told;
}

function audienceOf({ audience }: Digest, { channels }: ResolvedAlerts): { endpoint: string; to: string }[] {
  return audience === operators
    ? Object.keys(channels).map((name) => ({ endpoint: name, to: name }))
    : [{ endpoint: contactIdOf(audience), to: audience }];
}

/** Somebody may have removed a channel's endpoint: the options say that there is one. */
async function enqueueSure(
  tx: Queryable,
  parts: LookParts,
  notifications: Parameters<typeof enqueue>[2],
): Promise<void> {
  const { schema } = parts.endpoints;
  if (notifications.length === 0) return;
  try {
    await enqueue(tx, schema, notifications);
  } catch (error) {
    if (!(error instanceof UnknownEndpointError)) throw error;
    await storeChannels(tx, parts);
    await enqueue(tx, schema, notifications);
  }
}

async function hasContact(tx: Queryable, { schema, source }: EndpointContext, endpoint: string): Promise<boolean> {
  const rows = await tx.query(`select 1 as one from ${quoteSchema(schema)}.endpoint where source = $1 and id = $2`, [
    alertSourceOf(source),
    contactIdOf(endpoint),
  ]);
  return rows.length > 0;
}

/** Writes the channels of the options down, as they are now. */
export async function storeChannels(tx: Queryable, { endpoints, options }: LookParts): Promise<void> {
  for (const [name, channel] of Object.entries(options.channels)) {
    const { locale } = channel;
    const stored = channel.kind === 'function' ? { kind: 'function' as const, ...(locale && { locale }) } : channel;
    await storeChannel(tx, endpoints, { id: name, name, channel: { locale: options.locale, ...stored } });
  }
}
