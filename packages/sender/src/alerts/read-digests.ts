import { textOf, textOrNull, type Queryable } from '../outbox/database.js';
import { quoteSchema } from '../outbox/schema-name.js';
import type { AlertKind } from './alert.js';
import type { CollectContext } from './collect-dead.js';
import type { Pending } from './digest.js';

/** The operators, as opposed to one endpoint's contact. */
export const operators = '';

/** What waits to be told, of one kind, to one audience. */
export interface Digest {
  kind: AlertKind;
  audience: string;
  /** How long its window has been over, in ms; below 0 it is still gathering. */
  openForMs: number;
  windowMs: number;
  pending: Pending | undefined;
}

/** Digests that may be told now and have something to tell, or those named. */
export async function readDigests(
  tx: Queryable,
  { schema, source }: CollectContext,
  which: readonly { kind: AlertKind; audience: string }[] | 'open',
): Promise<Digest[]> {
  const name = quoteSchema(schema);
  const select = `select d.kind, d.audience, d.window_ms::text as window_ms, d.pending,
      case when d.opens_at = '-infinity' then '9007199254740991' else ((extract(epoch from now() - d.opens_at) * 1000)::bigint)::text end as open_for_ms
      from ${name}.alert_digest d`;
  const rows =
    which === 'open'
      ? await tx.query(
          `${select} where d.source = $1 and d.pending is not null and d.opens_at <= now() order by d.opens_at limit 500`,
          [source],
        )
      : await tx.query(
          `${select} join jsonb_to_recordset($2::text::jsonb) as w(kind text, audience text)
             on d.kind = w.kind and d.audience = w.audience where d.source = $1`,
          [source, JSON.stringify(which)],
        );
  return rows.map((row) => {
    const pending = textOrNull(row, 'pending');
    return {
      kind: textOf(row, 'kind') as AlertKind,
      audience: textOf(row, 'audience'),
      openForMs: Number(textOf(row, 'open_for_ms')),
      windowMs: Number(textOf(row, 'window_ms')),
      pending: pending === null ? undefined : (JSON.parse(pending) as Pending),
    };
  });
}

/** Keeps what waits; the windows stay as they are. */
export async function writePending(
  tx: Queryable,
  { schema, source }: CollectContext,
  digests: readonly { kind: AlertKind; audience: string; pending: Pending }[],
): Promise<void> {
  if (digests.length === 0) return;
  const rows = digests.map(({ pending, ...which }) => ({ ...which, pending: JSON.stringify(pending) }));
  await tx.query(
    `insert into ${quoteSchema(schema)}.alert_digest (source, kind, audience, pending)
     select $1, w.kind, w.audience, w.pending from jsonb_to_recordset($2::text::jsonb) as w(kind text, audience text, pending text)
     on conflict (source, kind, audience) do update set pending = excluded.pending`,
    [source, JSON.stringify(rows)],
  );
}

/** Nothing waits any more: it has been told, and the next window begins. */
export async function beginWindow(
  tx: Queryable,
  { schema, source }: CollectContext,
  { kind, audience, windowMs }: { kind: AlertKind; audience: string; windowMs: number },
): Promise<void> {
  await tx.query(
    `update ${quoteSchema(schema)}.alert_digest
        set pending = null, window_ms = $4::text::bigint, opens_at = now() + $4::text::float8 * interval '1 millisecond'
      where source = $1 and kind = $2 and audience = $3`,
    [source, kind, audience, String(windowMs)],
  );
}
