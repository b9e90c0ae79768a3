import { createSender, generateSecret, type EndpointInput, type Sender, type SenderOptions } from '@bestnotify/sender';
import type { TestDatabase } from '../fixtures/databases.ts';
import { sharedPglite } from '../fixtures/pglite.ts';

export const source = 'acme-pay';
const sealingKey = Buffer.alloc(32, 1).toString('base64');

/** A sender with tables of its own, in one of the databases that it supports. */
export interface Outbox extends AsyncDisposable {
  readonly sender: Sender;
  readonly schema: string;
  readonly database: TestDatabase['database'];
  /** Runs one statement with the schema as its search path, and returns the rows. */
  readonly query: TestDatabase['query'];
  /** Stores an endpoint on loopback, plain http allowed, with a secret of its own. */
  putEndpoint(endpoint: Partial<EndpointInput> & { id: string }): Promise<string>;
  /** Another sender over the same tables, as a second process would have. */
  another(options?: Partial<SenderOptions>): Sender;
  /** Makes it look as if `byMs` had passed: every moment in the outbox moves back. */
  age(facts: { byMs: number }): Promise<void>;
  /** Until the row that is due first is due, in ms. */
  dueInMs(): Promise<number>;
}

/** What every test notification is made of, unless it says otherwise. */
export const paid = { type: 'payment.success', bizId: 'PAY1', data: { amount: '100.00' } } as const;

export async function freshOutbox(
  open: () => Promise<TestDatabase>,
  options: Partial<SenderOptions> = {},
): Promise<Outbox> {
  const { schema, database, query, ...rest } = await open();
  const senders: Sender[] = [];
  const another = (more: Partial<SenderOptions> = {}) => {
    const sender = createSender({
      source,
      database,
      schema,
      allowPrivateNetwork: ['127.0.0.0/8'],
      secretStorage: { keys: [{ id: 'test', key: sealingKey }] },
      postgres: { maxConnections: 5 },
      ...options,
      ...more,
    });
    senders.push(sender);
    return sender;
  };
  const sender = another();
  // The same as migrate(), in one round trip; test/sender/migrations.test.ts proves that it is the same.
  if (typeof database === 'string') await query(sender.printMigrations());
  else await (await sharedPglite()).exec(sender.printMigrations());
  return {
    sender,
    schema,
    database,
    query,
    another,
    async putEndpoint(endpoint) {
      const secret = generateSecret();
      await sender.endpoints.put({
        url: 'http://127.0.0.1:9999/notify',
        secrets: [secret],
        allowHttp: true,
        allowPrivateNetwork: true,
        ...endpoint,
      });
      return secret;
    },
    async age({ byMs }) {
      const by = `interval '1 millisecond' * ${byMs}`;
      await query(
        `update outbox set due_at = due_at - ${by}, claimed_until = claimed_until - ${by}, round_at = round_at - ${by}, first_claimed_at = first_claimed_at - ${by},
                first_attempt_at = first_attempt_at - ${by}, settled_at = settled_at - ${by}`,
      );
      await query(`update endpoint set held_at = held_at - ${by}`);
      await query(
        `update endpoint_health set parked_until = parked_until - ${by}, probe_until = probe_until - ${by},
                rest_until = rest_until - ${by}, ramped_from = ramped_from - ${by}, tokens_at = tokens_at - ${by}`,
      );
    },
    async dueInMs() {
      const [row] = await query<{ ms: number }>(
        'select (extract(epoch from min(greatest(due_at, claimed_until)) - now()) * 1000)::int as ms from outbox where state = 0',
      );
      if (row === undefined) throw new Error('Nothing is pending.');
      return row.ms;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(senders.map((each) => each.close()));
      await rest[Symbol.asyncDispose]();
    },
  };
}
