import { randomUUID } from 'node:crypto';
import { memoryStore, redisStore, type Store } from '@bestnotify/receiver';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, test } from 'vitest';
import { requiredEnv } from '../fixtures/required-env.ts';
import { ownRedisCluster } from '../contract/own-redis.ts';
import { gate, line, receiverFor, senderTo } from './merchant.ts';

const redis = new Redis(requiredEnv('REDIS_URL'));
afterAll(() => redis.disconnect());

const opens: { name: string; open: () => Store }[] = [
  { name: 'memory', open: () => memoryStore() },
  { name: 'Redis', open: () => redisStore(redis, { prefix: `test:${randomUUID()}` }) },
];

/** Sends the states of some subjects in a wild order, each until it is acknowledged, and watches what runs when. */
async function storm(store: Store, subjects: number, states: number) {
  const running = new Map<string, number>();
  const applied = new Map<string, number[]>();
  let beside = 0;
  const receiver = receiverFor({
    store,
    latestOnly: ['order.status'],
    handler: async ({ subject = '', sequence = 0 }) => {
      running.set(subject, (running.get(subject) ?? 0) + 1);
      if (running.get(subject)! > 1) beside += 1;
      await new Promise((resolve) => setTimeout(resolve, (sequence * 7) % 4));
      applied.set(subject, [...(applied.get(subject) ?? []), sequence]);
      running.set(subject, running.get(subject)! - 1);
      if ((sequence + subject.length) % 5 === 0 && applied.get(subject)!.filter((n) => n === sequence).length === 1) {
        applied.get(subject)!.pop(); // as if its transaction had rolled back
        throw new Error('once in a while it fails');
      }
    },
  });
  const sender = senderTo(receiver);
  const events = Array.from({ length: subjects * states }, (_, i) => ({
    type: 'order.status',
    bizId: `S${i % subjects}-${Math.floor(i / subjects)}`,
    subject: `ORDER${i % subjects}`,
    sequence: Math.floor(i / subjects),
  })).sort((a, b) => ((a.sequence * 7919) % 13) - ((b.sequence * 7919) % 13) || a.bizId.localeCompare(b.bizId));
  const lane = async (): Promise<void> => {
    for (let event = events.pop(); event !== undefined; event = events.pop()) {
      let answer = '';
      for (let i = 0; i < 2_000 && !answer.startsWith('200'); i += 1) {
        if (i > 0) await new Promise((resolve) => setTimeout(resolve, 2));
        answer = line(await sender.once(event));
      }
      expect(answer).toMatch(/^200/);
    }
  };
  await Promise.all(Array.from({ length: 24 }, lane));
  return { applied, beside, stats: receiver.stats() };
}

describe.each(opens)('the ordering guard on $name', ({ open }) => {
  test('R074: in heavy disorder the newest state wins, nothing older runs after it, and nothing runs beside it', async () => {
    const { applied, beside, stats } = await storm(open(), 12, 12);
    expect(beside).toBe(0);
    expect(applied.size).toBe(12);
    for (const sequences of applied.values()) {
      expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
      expect(sequences.at(-1)).toBe(11);
    }
    expect(stats.replies.stale).toBeGreaterThan(0);
  });

  test('R071: the third delivery that arrives after the order was cancelled is acknowledged and changes nothing', async () => {
    const states: string[] = [];
    const receiver = receiverFor({
      store: open(),
      latestOnly: ['order.paid', 'order.cancelled'],
      handler: ({ type }) => void states.push(type),
    });
    const sender = senderTo(receiver);
    const paid = { type: 'order.paid', bizId: 'PAY1', subject: 'ORDER7', sequence: 1 };
    expect(line(await sender.once({ type: 'order.cancelled', bizId: 'C1', subject: 'ORDER7', sequence: 2 }))).toBe(
      '200 success handled',
    );
    expect(line(await sender.once(paid))).toBe('200 success stale');
    expect(line(await sender.once(paid))).toBe('200 success stale');
    expect(states).toEqual(['order.cancelled']);
  });

  test('another state of the same subject waits while one runs', async () => {
    const entered = gate();
    const finish = gate();
    const receiver = receiverFor({
      store: open(),
      latestOnly: ['order.status'],
      handler: async ({ sequence }) => {
        if (sequence !== 1) return;
        entered.open();
        await finish.promise;
      },
    });
    const sender = senderTo(receiver);
    const state = (sequence: number) =>
      sender.once({ type: 'order.status', bizId: `S${sequence}`, subject: 'O', sequence });
    const first = state(1);
    await entered.promise;
    expect(line(await state(2))).toBe('409 fail in-progress');
    finish.open();
    expect(line(await first)).toBe('200 success handled');
    expect(line(await state(2))).toBe('200 success handled');
  });

  test('an opted-in type without subject or sequence is malformed; a type that is not opted in is never skipped', async () => {
    const handled: string[] = [];
    const receiver = receiverFor({
      store: open(),
      latestOnly: ['order.status'],
      handler: ({ bizId }) => void handled.push(bizId),
    });
    const sender = senderTo(receiver);
    expect(line(await sender.once({ type: 'order.status', bizId: 'A', subject: 'O' }))).toBe('400 fail malformed');
    expect(line(await sender.once({ type: 'order.status', bizId: 'A', sequence: 1 }))).toBe('400 fail malformed');
    for (const sequence of [9, 3, 7, 1]) {
      expect(line(await sender.once({ type: 'refund', bizId: `RF${sequence}`, subject: 'O', sequence }))).toBe(
        '200 success handled',
      );
    }
    expect(handled).toEqual(['RF9', 'RF3', 'RF7', 'RF1']);
  });
});

test('the guard and the record share a slot of a real cluster', async () => {
  await using cluster = await ownRedisCluster();
  const { applied, beside } = await storm(redisStore(cluster.client), 6, 6);
  expect(beside).toBe(0);
  for (const sequences of applied.values()) expect(sequences.at(-1)).toBe(5);
});
