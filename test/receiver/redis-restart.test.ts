import { redisStore } from '@bestnotify/receiver';
import { scriptedSender } from '@bestnotify/receiver/testing';
import { expect, test } from 'vitest';
import { ownRedis } from '../contract/own-redis.ts';
import { line, onExpress, receiverFor, secret, source, to } from './merchant.ts';

const deliveries = 2_000;
const senders = 16;

test(
  `Redis is stopped and started during ${deliveries} deliveries: no effect is lost and none is doubled`,
  { timeout: 90_000 },
  async () => {
    await using redis = await ownRedis(['--appendonly', 'yes', '--appendfsync', 'no']);
    const effects = new Map<string, number>();
    let isDown = false;
    const handledWhileDown: string[] = [];
    const receiver = receiverFor({
      store: redisStore(redis.connect()),
      storeTimeoutMs: 250,
      handler: async ({ bizId }) => {
        await new Promise((resolve) => setImmediate(resolve));
        effects.set(bizId, (effects.get(bizId) ?? 0) + 1);
        if (isDown) handledWhileDown.push(bizId);
      },
    });
    await using server = await onExpress(receiver);
    const sender = scriptedSender({ target: server.url, secret, source, to, maxAttempts: 2_000, gapMs: 25 });

    const answers = new Map<string, number>();
    let next = 0;
    let delivered = 0;
    const lane = async (): Promise<void> => {
      while (next < deliveries) {
        const bizId = `PAY${(next += 1)}`;
        const { replies, delivered: isDelivered } = await sender.deliver({ type: 'payment.success', bizId });
        for (const reply of replies) answers.set(line(reply), (answers.get(line(reply)) ?? 0) + 1);
        if (isDelivered) delivered += 1;
      }
    };
    const restart = async (): Promise<void> => {
      for (const at of [500, 1_000, 1_500]) {
        while (delivered < at) await new Promise((resolve) => setTimeout(resolve, 5));
        await redis.stop('SIGKILL');
        isDown = true;
        await new Promise((resolve) => setTimeout(resolve, 400));
        isDown = false;
        await redis.start();
      }
    };
    await Promise.all([...Array.from({ length: senders }, lane), restart()]);
    await receiver.drain();

    expect(delivered).toBe(deliveries);
    expect(effects.size).toBe(deliveries);
    expect([...effects.values()].filter((times) => times !== 1)).toEqual([]);
    expect(answers.get('503 fail store-unavailable') ?? 0).toBeGreaterThan(0);
    const allowed = [
      '200 success handled',
      '200 success duplicate',
      '409 fail in-progress',
      '503 fail store-unavailable',
    ];
    expect([...answers.keys()].filter((answer) => !allowed.includes(answer))).toEqual([]);
    expect(receiver.stats().recordsLost).toBe(0);
    console.log(`Redis restarted 3 times: ${JSON.stringify(Object.fromEntries(answers))}`);
  },
);
