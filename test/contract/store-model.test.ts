import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { play, type Step } from './store-model.ts';
import { storeKinds, type StoreUnderTest } from './stores.ts';

const kinds = storeKinds.filter(({ name }) => name !== 'Redis Cluster'); // the same scripts as on one Redis, three times slower
const lanes = 4;
const runsPerLane = 250;
const commandsPerRun = 50;

const place = fc.nat({ max: 40 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('acquire' as const),
      event: fc.nat({ max: 4 }),
      payload: fc.constantFrom(0, 0, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('acquire again' as const), run: place }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('renew' as const, 'release' as const, 'complete' as const, 'crash' as const),
      run: place,
    }),
  },
  { weight: 2, arbitrary: fc.constant<Step>({ kind: 'leases end' }) },
);
const history = fc.array(step, { minLength: commandsPerRun, maxLength: commandsPerRun });

describe('random histories of claims on all three kinds of store at once', () => {
  const opened: StoreUnderTest[][] = [];
  beforeAll(async () => {
    for (let lane = 0; lane < lanes; lane += 1) opened.push(await Promise.all(kinds.map(({ open }) => open())));
  });
  afterAll(() => Promise.all(opened.flat().map((store) => store[Symbol.asyncDispose]())));

  test(
    `no handler starts after done, no payloads mix, nothing is stuck: ${lanes * runsPerLane} runs of ${commandsPerRun} commands`,
    { timeout: 150_000 },
    async () => {
      let runs = 0;
      const playLane = (stores: readonly StoreUnderTest[], lane: number): Promise<void> =>
        fc.assert(
          fc.asyncProperty(history, async (steps) => {
            runs += 1;
            await play(steps, stores, `lane ${lane} run ${runs}`);
          }),
          { numRuns: runsPerLane },
        );
      await Promise.all(opened.map(playLane));
      expect(runs).toBeGreaterThanOrEqual(lanes * runsPerLane);
      console.log(`model: ${runs} runs of ${commandsPerRun} commands on ${kinds.map(({ name }) => name).join(', ')}`);
    },
  );
});
