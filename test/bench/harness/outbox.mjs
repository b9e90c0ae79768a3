import { randomBytes } from 'node:crypto';
import { createSender, generateSecret } from '@bestnotify/sender';
import postgres from 'postgres';

export const source = 'bench';

/** How every sender of the benchmarks is made: only the tables differ. */
export function openSender({ databaseUrl, schema, ...more }) {
  return createSender({ source, database: databaseUrl, schema, allowPrivateNetwork: ['127.0.0.0/8'], ...more });
}

/**
 * An outbox of the benchmark's own.
 *
 * @returns its `sender`, `schema`, `sql` (a postgres.js client with the schema as its search path), and `drop()`.
 */
export async function freshOutbox(name, databaseUrl = process.env['DATABASE_URL']) {
  const schema = `bench_${name}_${randomBytes(4).toString('hex')}`;
  const sender = openSender({ databaseUrl, schema });
  await sender.migrate();
  const sql = postgres(databaseUrl, { max: 4, onnotice: () => undefined, connection: { search_path: schema } });
  return {
    sender,
    schema,
    sql,
    databaseUrl,
    async drop() {
      await sender.close();
      await sql.unsafe(`drop schema ${schema} cascade`);
      await sql.end();
    },
  };
}

/** An endpoint on this machine, with a secret of its own. */
export function localEndpoint(endpoint) {
  return { secrets: [generateSecret()], allowHttp: true, allowPrivateNetwork: true, ...endpoint };
}

/** Stores `count` merchants, `merchant-0` and on, all of whom receive at `url`. @returns their secrets. */
export async function putEndpoints({ sender }, { count, url, ...more }) {
  const secrets = [];
  for (let index = 0; index < count; index++) {
    const endpoint = localEndpoint({ id: `merchant-${index}`, url, ...more });
    await sender.endpoints.put(endpoint);
    secrets.push(...endpoint.secrets);
  }
  return secrets;
}

/** The event that the benchmarks send, about 1 KiB as an envelope. */
export function payment(number) {
  return {
    type: 'payment.success',
    bizId: `PAY${number}`,
    subject: `ORDER${number}`,
    occurredAt: '2026-11-30T09:00:00Z',
    data: {
      orderId: `ORDER${number}`,
      amount: '128.50',
      currency: 'CNY',
      payer: 'user-8812345',
      channel: 'card',
      paidAt: '2026-11-30T17:00:00+08:00',
      attach: 'the merchant’s own words come back as they were: '.repeat(14),
    },
  };
}

/** Enqueues `count` payments, spread over `endpoints` merchants, numbered from `from`. */
export async function enqueuePayments({ sender }, { from, count, endpoints }) {
  const batch = 1_000;
  for (let at = from; at < from + count; at += batch) {
    const size = Math.min(batch, from + count - at);
    await sender.notifyMany(
      Array.from({ length: size }, (_, index) => ({
        endpoint: `merchant-${(at + index) % endpoints}`,
        ...payment(at + index),
      })),
    );
  }
}
