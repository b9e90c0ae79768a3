import { waitsForMs } from '../pipeline/settlements.js';
import { decodePolicy, giveUpAgeMs } from '../rules/policies.js';
import { intOf, intOrNull, textOf, textOrNull, type Queryable, type Row } from './database.js';
import { isClaimed } from './live-claims.js';
import { quoteSchema } from './schema-name.js';

/** A notification that the sweep ended. */
export interface Swept {
  id: string;
  source: string;
  endpoint: string;
  type: string;
  bizId: string;
  subject: string | null;
  round: number;
  attempts: number;
  reason: string;
}

const batchSize = 500;

/**
 * Ends notifications of parked endpoints that are over their give-up age: nothing is sent there that could fail and be judged.
 *
 * Held endpoints are left out, because holding stops the age; so is what a worker has right now.
 *
 * @param after - the number of the last row of the batch before; '0' to begin.
 * @returns what was ended, and where the next batch begins; null when there is none.
 */
export async function sweepOverAge(
  database: Queryable,
  { schema, defaultPolicy, after }: { schema: string; defaultPolicy: string; after: string },
): Promise<{ swept: Swept[]; next: string | null }> {
  const name = quoteSchema(schema);
  const rows = await database.query(
    `select o.number::text as number, n.id::text as id, n.source, n.endpoint, n.type, n.biz_id, n.subject, o.round, o.attempts,
            coalesce(n.policy, e.policy) as policy, coalesce(n.max_attempts, e.max_attempts) as max_attempts,
            (extract(epoch from now() - o.first_attempt_at) * 1000 - (e.held_ms - o.held_ms_before))::text as age_ms,
            (extract(epoch from now() - o.round_at) * 1000 - greatest(e.held_ms - o.held_ms_before, 0))::text as round_age_ms
       from ${name}.endpoint_health h
       join ${name}.endpoint e on e.key = h.endpoint_key and e.held_at is null
       join ${name}.outbox o on o.endpoint_key = h.endpoint_key and o.state = 0 and o.lane in (0, 1)
       join ${name}.notification n on n.number = o.number
      where h.parked_until is not null and o.number > $1::text::bigint and not ${isClaimed}
      order by o.number limit ${batchSize}`,
    [after],
  );
  const over = rows
    .map((row) => ({ row, reason: reasonOf(row, defaultPolicy) }))
    .filter(({ reason }) => reason !== null);
  const ended = over.length === 0 ? [] : await end(database, name, over);
  const last = rows.at(-1);
  return {
    swept: over
      .filter(({ row }) => ended.includes(textOf(row, 'number')))
      .map(({ row, reason }) => sweptOf(row, reason ?? '')),
    next: rows.length === batchSize && last !== undefined ? textOf(last, 'number') : null,
  };
}

function reasonOf(row: Row, defaultPolicy: string): string | null {
  const age = textOrNull(row, 'age_ms');
  if (age === null) return Number(textOf(row, 'round_age_ms')) > waitsForMs ? 'never-attempted' : null;
  const policy = decodePolicy(textOrNull(row, 'policy') ?? defaultPolicy);
  return Number(age) > giveUpAgeMs(policy, intOrNull(row, 'max_attempts')) ? 'gave-up-by-age' : null;
}

async function end(
  database: Queryable,
  name: string,
  over: readonly { row: Row; reason: string | null }[],
): Promise<string[]> {
  const input = over.map(({ row, reason }) => ({ number: textOf(row, 'number'), round: intOf(row, 'round'), reason }));
  const rows = await database.query(
    `update ${name}.outbox o set state = 2, settled_at = now(), reason = i.reason,
            may_have_arrived = o.may_have_arrived or o.claim_token is not null, claim_token = null, claimed_until = null
       from jsonb_to_recordset($1::text::jsonb) as i(number bigint, round integer, reason text)
      where o.number = i.number and o.round = i.round and o.state = 0 and not ${isClaimed}
     returning o.number::text as number`,
    [JSON.stringify(input)],
  );
  return rows.map((row) => textOf(row, 'number'));
}

function sweptOf(row: Row, reason: string): Swept {
  return {
    id: `ntf_${textOf(row, 'id')}`,
    source: textOf(row, 'source'),
    endpoint: textOf(row, 'endpoint'),
    type: textOf(row, 'type'),
    bizId: textOf(row, 'biz_id'),
    subject: textOrNull(row, 'subject'),
    round: intOf(row, 'round'),
    attempts: intOf(row, 'attempts'),
    reason,
  };
}
