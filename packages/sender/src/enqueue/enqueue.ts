import { payloadDigest } from '@bestnotify/protocol';
import { createHash } from 'node:crypto';
import { intOf, textOf, type Queryable } from '../outbox/database.js';
import { PayloadConflictError, UnknownEndpointError } from '../outbox/errors.js';
import { stateOf, type NotificationState } from '../outbox/states.js';
import { enqueueStatement, forgetStatement, knownStatement } from './statements.js';

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
    hash: keyHash(notification),
    digest: payloadDigest(notification.body),
  }));
  const distinct = dropRepeats(rows);
  let pending = [...distinct.values()];
  const results = new Map<string, Enqueued>();
  const createdHashes: string[] = [];
  // A key that existed a moment ago may be gone when we look (its transaction rolled back): then it is ours to insert.
  for (let round = 0; pending.length > 0 && round < 5; round += 1) {
    for (const hash of await insert(tx, schema, pending)) {
      const row = distinct.get(hash);
      if (row === undefined) continue;
      createdHashes.push(hash);
      results.set(hash, { id: `ntf_${row.notification.uuid}`, created: true, state: 'pending' });
    }
    pending = pending.filter((row) => !results.has(row.hash));
    if (pending.length === 0) break;
    for (const known of await readKnown(tx, schema, pending)) {
      const row = distinct.get(known.hash);
      if (row === undefined) continue;
      if (known.digest !== row.digest) {
        if (createdHashes.length > 0) await tx.query(forgetStatement(schema), [JSON.stringify(createdHashes)]);
        throw conflict(known.id, row.notification);
      }
      results.set(known.hash, { id: known.id, created: false, state: known.state });
    }
    pending = pending.filter((row) => !results.has(row.hash));
  }
  return inGivenOrder(rows, results);
}

interface KeyedRow {
  notification: EncodedNotification;
  hash: string;
  digest: string;
}

/** The identity of a business event. None of its parts can hold a space, so the joined text is unambiguous (R064). */
function keyHash({ source, endpoint, type, bizId }: EncodedNotification): string {
  return createHash('sha256').update(`${source} ${endpoint} ${type} ${bizId}`).digest('hex');
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

/** @returns the hashes that were inserted; the others existed. */
async function insert(tx: Queryable, schema: string, rows: readonly KeyedRow[]): Promise<string[]> {
  let at = 1; // substring() counts from one
  const facts = rows.map(({ notification, hash, digest }) => {
    const { body, ...columns } = notification;
    const fact = { ...columns, hash, digest, at, size: body.byteLength };
    at += body.byteLength;
    return fact;
  });
  const bodies =
    rows.length === 1 && rows[0] !== undefined
      ? rows[0].notification.body
      : Buffer.concat(rows.map((row) => row.notification.body));
  const result = await tx.query(enqueueStatement(schema), [JSON.stringify(facts), bodies]);
  const missing = result.find((row) => intOf(row, 'outcome') === 2);
  if (missing !== undefined) {
    const endpoint = textOf(missing, 'endpoint');
    throw new UnknownEndpointError({ endpoint, source: rows[0]?.notification.source ?? '' });
  }
  return result.filter((row) => intOf(row, 'outcome') === 1).map((row) => textOf(row, 'hash'));
}

async function readKnown(tx: Queryable, schema: string, rows: readonly KeyedRow[]) {
  const known = await tx.query(knownStatement(schema), [JSON.stringify(rows.map((row) => row.hash))]);
  return known.map((row) => ({
    hash: textOf(row, 'hash'),
    id: `ntf_${textOf(row, 'id')}`,
    digest: textOf(row, 'digest'),
    state: stateOf(intOf(row, 'state')),
  }));
}

function inGivenOrder(rows: readonly KeyedRow[], results: ReadonlyMap<string, Enqueued>): Enqueued[] {
  const seen = new Set<string>();
  return rows.map(({ hash, notification }) => {
    const result = results.get(hash);
    if (result === undefined) {
      // Five rounds in which the key was there and then was not: somebody inserts and rolls back in a loop.
      throw new Error(
        `${notification.type} ${notification.bizId} could not be enqueued: its key keeps appearing and vanishing`,
      );
    }
    const isRepeat = seen.has(hash);
    seen.add(hash);
    return isRepeat ? { ...result, created: false } : result;
  });
}
