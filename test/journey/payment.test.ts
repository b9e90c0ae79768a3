import { memoryStore, redisStore, type Store } from '@bestnotify/receiver';
import { PayloadConflictError } from '@bestnotify/sender';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js';
import { sql } from 'drizzle-orm';
import postgres from 'postgres';
import { describe, expect, test } from 'vitest';
import { databases, type TestDatabase } from '../fixtures/databases.ts';
import { sharedPglite } from '../fixtures/pglite.ts';
import { freshRedis } from '../fixtures/redis.ts';
import { requiredEnv } from '../fixtures/required-env.ts';
import { freshOutbox } from '../sender/fresh-outbox.ts';
import { openMerchant } from './merchant.ts';

const minute = 60_000;

/** What a platform and a merchant run on. */
const places: readonly {
  name: string;
  open: () => Promise<TestDatabase>;
  openStore: () => Promise<{ store: Store } & AsyncDisposable>;
}[] = [
  {
    name: 'PostgreSQL and Redis',
    open: () => databases[0]?.open() ?? expect.fail(),
    async openStore() {
      const redis = await freshRedis();
      const store = redisStore(redis.client, { prefix: `${redis.prefix}bestnotify`, onWarning: () => undefined });
      return { store, [Symbol.asyncDispose]: () => redis[Symbol.asyncDispose]() };
    },
  },
  {
    name: 'PGlite and memory',
    open: () => databases[1]?.open() ?? expect.fail(),
    openStore: () => Promise.resolve({ store: memoryStore(), [Symbol.asyncDispose]: () => Promise.resolve() }),
  },
];

/** A platform with an orders table, one merchant, and everything between them. */
async function openStory({ open, openStore }: (typeof places)[number]) {
  const outbox = await freshOutbox(open);
  const { sender, schema } = outbox;
  const stored = await openStore();
  const secret = await outbox.putEndpoint({ id: 'merchant-42' });
  const merchant = await openMerchant({ to: 'merchant-42', secret, store: stored.store });
  await sender.endpoints.put({
    ...{ id: 'merchant-42', url: merchant.url, policy: 'article', allowHttp: true, allowPrivateNetwork: true },
  });
  await outbox.query('create table orders (id text primary key, paid text)');
  const client = typeof outbox.database === 'string' ? postgres(requiredEnv('DATABASE_URL'), { max: 2 }) : undefined;
  const orders = client === undefined ? drizzlePglite(await sharedPglite()) : drizzlePostgresJs(client);
  return {
    ...outbox,
    merchant,
    secret,
    /** The order and the news of it, in one transaction of the platform's own. */
    pay: (order: string, amount: string, given: { fails?: boolean } = {}) =>
      orders.transaction(async (tx) => {
        await tx.execute(sql`insert into ${sql.identifier(schema)}.orders values (${order}, ${amount})`);
        const { id } = await sender.notify(
          { endpoint: 'merchant-42', type: 'payment.success', bizId: `PAY-${order}`, subject: order, data: { amount } },
          { tx },
        );
        if (given.fails === true) throw new Error('no money on the card');
        return id;
      }),
    async [Symbol.asyncDispose]() {
      await merchant[Symbol.asyncDispose]();
      await client?.end();
      await outbox[Symbol.asyncDispose]();
      await stored[Symbol.asyncDispose]();
    },
  };
}

describe.each(places)('a payment, on $name', (place) => {
  test('is told once, and takes effect once', async () => {
    await using story = await openStory(place);
    const { sender, merchant } = story;

    const id = await story.pay('ORDER7', '100.00');
    await sender.runOnce();

    expect(await sender.operations.show(id)).toMatchObject({ state: 'delivered', reason: 'handled', attempts: 1 });
    expect(merchant.money).toEqual(['payment.success PAY-ORDER7 100.00']);
    expect(await story.query('select * from orders')).toEqual([{ id: 'ORDER7', paid: '100.00' }]);
  });

  test('that was rolled back is told to nobody', async () => {
    await using story = await openStory(place);

    await expect(story.pay('ORDER7', '100.00', { fails: true })).rejects.toThrow('no money on the card');
    await story.sender.runOnce();

    expect(story.merchant.answers).toEqual([]);
    expect(await story.query('select * from orders')).toEqual([]);
  });

  test('reaches a merchant who was down for a while', async () => {
    await using story = await openStory(place);
    const { sender, merchant } = story;
    await merchant.goDown();
    const ids = [await story.pay('ORDER7', '100.00'), await story.pay('ORDER8', '7.00')];

    for (let pass = 0; pass < 2; pass += 1) {
      await sender.runOnce();
      await story.age({ byMs: 2 * minute });
    }
    expect(merchant.money).toEqual([]);
    await merchant.comeUp();
    await sender.runOnce();

    for (const id of ids) expect(await sender.operations.show(id)).toMatchObject({ state: 'delivered', attempts: 3 });
    expect(merchant.money.toSorted()).toEqual(['payment.success PAY-ORDER7 100.00', 'payment.success PAY-ORDER8 7.00']);
  });

  test('whose acknowledgement was lost is told again and takes effect no second time', async () => {
    await using story = await openStory(place);
    const { sender, merchant } = story;
    merchant.loseNextReply();
    const id = await story.pay('ORDER7', '100.00');

    await sender.runOnce();
    expect(await sender.operations.show(id)).toMatchObject({
      state: 'pending',
      attemptLog: [{ outcome: 'no-answer' }],
    });
    await story.age({ byMs: minute });
    await sender.runOnce();

    expect(await sender.operations.show(id)).toMatchObject({ state: 'delivered', reason: 'duplicate', attempts: 2 });
    expect(merchant.money).toEqual(['payment.success PAY-ORDER7 100.00']);
    expect(merchant.answers).toEqual(['200 success handled', '200 success duplicate']);
  });

  test('with two refunds is three events, and all three take effect', async () => {
    await using story = await openStory(place);
    const { sender, merchant } = story;
    await story.pay('ORDER7', '100.00');
    const refund = { endpoint: 'merchant-42', type: 'refund.success', subject: 'ORDER7' };
    await sender.notifyMany([
      { ...refund, bizId: 'RF1', data: { amount: '5.00' } },
      { ...refund, bizId: 'RF2', data: { amount: '5.00' } },
    ]);

    await sender.runOnce();

    expect(merchant.money.toSorted()).toEqual([
      'payment.success PAY-ORDER7 100.00',
      'refund.success RF1 5.00',
      'refund.success RF2 5.00',
    ]);
  });

  test('with another amount under the same number is refused by the platform, and by the merchant too', async () => {
    await using story = await openStory(place);
    const { sender, merchant } = story;
    await story.pay('ORDER7', '100.00');
    await sender.runOnce();
    const changed = {
      endpoint: 'merchant-42',
      type: 'payment.success',
      bizId: 'PAY-ORDER7',
      data: { amount: '900.00' },
    };

    await expect(sender.notify(changed)).rejects.toBeInstanceOf(PayloadConflictError);
    await story.query('delete from notification_key'); // a platform that has forgotten, such as one restored from a backup
    const { id } = await sender.notify(changed);
    const told: string[] = [];
    sender.on('dead', ({ reason }) => told.push(reason));
    await sender.runOnce();

    expect(await sender.operations.show(id)).toMatchObject({ state: 'dead', reason: 'payload-conflict', attempts: 1 });
    expect(told).toEqual(['payload-conflict']);
    expect(merchant.money).toEqual(['payment.success PAY-ORDER7 100.00']);
    expect(merchant.answers).toEqual(['200 success handled', '422 fail payload-conflict']);
  });

  test('that went dead while the merchant was broken is resent by hand, and takes effect once', async () => {
    await using story = await openStory(place);
    const { sender, merchant } = story;
    merchant.trouble = () => {
      throw new Error('out of disk');
    };
    const id = await story.pay('ORDER7', '100.00');
    for (const passedMs of [1, 10, 60, 60].map((minutes) => minutes * 1.15 * minute)) {
      await sender.runOnce();
      await story.age({ byMs: passedMs });
    }
    await sender.runOnce();
    expect(await sender.operations.show(id)).toMatchObject({ state: 'dead' });
    expect(new Set(merchant.answers)).toEqual(new Set(['500 fail handler-error']));

    merchant.trouble = undefined;
    await sender.operations.resend(id);
    await sender.runOnce();
    await sender.operations.resend(id); // once more, by mistake
    await sender.runOnce();

    expect(await sender.operations.show(id)).toMatchObject({ state: 'delivered', reason: 'duplicate', round: 3 });
    expect(merchant.money).toEqual(['payment.success PAY-ORDER7 100.00']);
  });

  test('told to one merchant cannot be shown to another who shares the key', async () => {
    await using story = await openStory(place);
    const { sender, secret } = story;
    await using stored = await place.openStore();
    await using other = await openMerchant({ to: 'merchant-43', secret, store: stored.store });
    const alerts: string[] = [];
    sender.on('refused', ({ because }) => alerts.push(because));

    // A genuine notification for merchant-42, sent to the wrong shop: its signature is right, its audience is not.
    const { id } = await sender.notify({
      ...{ endpoint: 'merchant-42', type: 'payment.success', bizId: 'PAY1', data: { amount: '1.00' }, url: other.url },
    });
    await sender.runOnce();

    expect(other.answers).toEqual(['401 fail wrong-audience']);
    expect(other.money).toEqual([]);
    expect(alerts).toEqual(['wrong-audience']);
    expect(await sender.operations.show(id)).toMatchObject({ state: 'pending', attempts: 1 });
  });
});
