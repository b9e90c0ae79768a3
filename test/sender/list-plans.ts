import type { Database, Parameter, Row } from '../../packages/sender/src/outbox/database.ts';
import { list, type ListFilter } from '../../packages/sender/src/outbox/operations/list.ts';
import { source, type Outbox } from './fresh-outbox.ts';

/** The plans of every statement that listing by `filter` runs, as it runs them. */
export async function explainList(outbox: Outbox, filter: ListFilter): Promise<string[]> {
  const plans: string[] = [];
  const query = async (text: string, parameters: readonly Parameter[]): Promise<Row[]> => {
    const rows = await outbox.query<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, parameters);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return outbox.query(text, parameters);
  };
  const database: Database = {
    isSingleSession: false,
    query,
    transaction: () => Promise.reject(new Error('a list needs no transaction')),
    script: () => Promise.reject(new Error('a list needs no script')),
    close: () => Promise.resolve(),
  };
  await list({ database, schema: outbox.schema, source, onDue: () => undefined }, { limit: 50, ...filter });
  return plans;
}
