import { hash } from 'node:crypto';
import { intOf, textOf, type Queryable } from '../outbox/database.js';
import { PayloadConflictError, UnknownEndpointError } from '../outbox/errors.js';
import { stateOf, type NotificationState } from '../outbox/states.js';
import { enqueueQuery, forgetStatement, knownStatement } from './statements.js';

/** A notification that passed every check and has its bytes: what the outbox stores. */
export interface EncodedNotification {
  /** UUIDv7, without the `ntf_` of the wire. */
  uuid: string;
  source: string;
  endpoint: string;
  type: string;
  bizId: string;
  subject: string | null;
  url: string | null;
  lane: number;
  policy: string | null;
  maxAttempts: number | null;
  contentType: string;
  body: Buffer;
  /** Where its attempts' spans go on from; absent where nobody traces. */
  traceparent?: string;
}

/** What became of one `notify`. */
export interface Enqueued {
  /** The `webhook-id` of every attempt: `ntf_…`. */
  id: string;
  /** False if this business event was enqueued before with the same bytes; nothing was written then. */
  created: boolean;
  state: NotificationState;
}

/**
 * Writes notifications into the outbox: one statement, all or nothing, in the order of their keys, so that two
 * callers with opposite orders do not deadlock.
 *
 * @param tx - the caller's transaction, or one of ours.
 * @returns one result for each notification, in the order given.
 * @throws {@link UnknownEndpointError} or {@link PayloadConflictError}; the outbox is then as it was before.
 */
export async function enqueue(
  tx: Queryable,
  schema: string,
  notifications: readonly EncodedNotification[],
): Promise<Enqueued[]> {
  const rows = notifications.map((notification) => ({
    notification,
    hash: sha256(keyOf(notification)),
    digest: sha256(notification.body),
  }));
  const distinct = dropRepeats(rows);
  let pending = [...distinct.values()];
  const results = new Map<string, Enqueued>();
  const created: KeyedRow[] = [];
  // A key that existed a moment ago may be gone when we look (its transaction rolled back): then it is ours to insert.
  for (let round = 0; pending.length > 0 && round < 5; round += 1) {
    const existing = await insert(tx, schema, pending);
    for (const row of pending) {
      if (existing.has(row)) continue;
      created.push(row);
      results.set(row.hash, { id: `ntf_${row.notification.uuid}`, created: true, state: 'pending' });
    }
    pending = [...existing];
    if (pending.length === 0) break;
    const known = await readKnown(tx, schema, pending);
    for (const row of pending) {
      const found = known.get(row.hash);
      if (found === undefined) continue;
      if (found.digest !== row.digest) {
        if (created.length > 0) await tx.query(forgetStatement(schema), [hashesOf(created)]);
        throw conflict(found.id, row.notification);
      }
      results.set(row.hash, { id: found.id, created: false, state: found.state });
    }
    pending = pending.filter((row) => !results.has(row.hash));
  }
  return inGivenOrder(rows, results);
}

/** A notification and what it is known by. */
export interface KeyedRow {
  notification: EncodedNotification;
  /** SHA-256 of the business event's identity, in hex. */
  hash: string;
  /** SHA-256 of the body, in hex. */
  digest: string;
}

/** The identity of a business event. None of its parts can hold a space, so the joined text is unambiguous (R064). */
function keyOf({ source, endpoint, type, bizId }: EncodedNotification): string {
  return `${source} ${endpoint} ${type} ${bizId}`;
}

function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

function hashesOf(rows: readonly KeyedRow[]): string {
  return JSON.stringify(rows.map((row) => row.hash));
}

/** One call may name an event twice: the first one counts. @throws {@link PayloadConflictError} if the bytes differ. */
function dropRepeats(rows: readonly KeyedRow[]): Map<string, KeyedRow> {
  const distinct = new Map<string, KeyedRow>();
  for (const row of rows) {
    const first = distinct.get(row.hash);
    if (first === undefined) distinct.set(row.hash, row);
    else if (first.digest !== row.digest) throw conflict(`ntf_${first.notification.uuid}`, row.notification);
  }
  return distinct;
}

function conflict(id: string, { endpoint, type, bizId }: EncodedNotification): PayloadConflictError {
  return new PayloadConflictError({ id, endpoint, type, bizId });
}

/** @returns those whose key existed; the others were inserted. */
async function insert(tx: Queryable, schema: string, rows: readonly KeyedRow[]): Promise<Set<KeyedRow>> {
  const existing = new Set<KeyedRow>();
  for (const result of await tx.query(...enqueueQuery(schema, rows))) {
    const row = rows[intOf(result, 'place') - 1];
    if (row === undefined) throw new RangeError('enqueueing gave a place that was not asked for');
    const { endpoint, source } = row.notification;
    if (intOf(result, 'outcome') === 2) throw new UnknownEndpointError({ endpoint, source });
    existing.add(row);
  }
  return existing;
}

/** What is known under the keys of `rows`, by key hash. */
async function readKnown(tx: Queryable, schema: string, rows: readonly KeyedRow[]) {
  const known = await tx.query(knownStatement(schema), [hashesOf(rows)]);
  return new Map(
    known.map((row) => [
      textOf(row, 'hash'),
      { id: `ntf_${textOf(row, 'id')}`, digest: textOf(row, 'digest'), state: stateOf(intOf(row, 'state')) },
    ]),
  );
}

function inGivenOrder(rows: readonly KeyedRow[], results: ReadonlyMap<string, Enqueued>): Enqueued[] {
  const seen = new Set<string>();
  return rows.map((row) => {
    const result = results.get(row.hash);
    if (result === undefined) {
      // Five rounds in which the key was there and then was not: somebody inserts and rolls back in a loop.
      const { type, bizId } = row.notification;
      throw new Error(`${type} ${bizId} could not be enqueued: its key keeps appearing and vanishing`);
    }
    const isRepeat = seen.has(row.hash);
    seen.add(row.hash);
    return isRepeat ? { ...result, created: false } : result;
  });
}
