import { setTimeout as after } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { startDeadline } from '../src/deadline.js';

describe('deadlines of one length share a timer', () => {
  test('those that are not stopped end in the order in which they were started, none of them early', async () => {
    const startedAtMs = performance.now();
    const ended: number[] = [];
    const waits = Array.from({ length: 6 }, (_, index) => startDeadline(60, () => ended.push(index)));
    waits[0]!.stop();
    waits[3]!.stop();
    waits[5]!.stop();
    await new Promise<void>((resolve) => startDeadline(70, resolve));
    expect(ended).toEqual([1, 2, 4]);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(70);
    expect(waits.every(({ isRunning }) => !isRunning)).toBe(true);
  });

  test('one that starts while an older timer runs still gets its whole length', async () => {
    startDeadline(80, () => undefined).stop();
    await after(60);
    const startedAtMs = performance.now();
    await new Promise<void>((resolve) => startDeadline(80, resolve));
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(80);
  });

  test('stopping twice, or after the end, stops nobody else', async () => {
    const ended: string[] = [];
    const first = startDeadline(40, () => ended.push('first'));
    startDeadline(40, () => ended.push('second'));
    first.stop();
    first.stop();
    await new Promise<void>((resolve) => {
      const last = startDeadline(40, () => {
        last.stop();
        resolve();
      });
    });
    expect(ended).toEqual(['second']);
  });

  test('one that starts another when it ends is followed by it', async () => {
    let rounds = 0;
    await new Promise<void>((resolve) => {
      const again = (): void => {
        rounds += 1;
        if (rounds === 3) resolve();
        else startDeadline(15, again);
      };
      startDeadline(15, again);
    });
    expect(rounds).toBe(3);
  });

  test('a process waits for those that run, and for none that was stopped', () => {
    const kept = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = kept();
    const [first, second] = [startDeadline(5_000, () => undefined), startDeadline(5_000, () => undefined)];
    expect(kept()).toBe(before + 1);
    first.stop();
    expect(kept()).toBe(before + 1);
    second.stop();
    expect(kept()).toBe(before);
    const third = startDeadline(5_000, () => undefined);
    expect(kept()).toBe(before + 1);
    third.stop();
    expect(kept()).toBe(before);
  });
});
