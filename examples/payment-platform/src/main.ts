import { maxAttempts, openStage, type Stage } from './stage.js';
import { tellStory } from './story.js';
import { audit } from './tally.js';
import { Timeline } from './timeline.js';
import { stayUp } from './stay-up.js';

// `--once` plays the story, prints the tally as one line of JSON, and exits: 0, or 1 if anything was lost or took effect twice.
const isOnce = process.argv.includes('--once');
const timeline = new Timeline();

const stopped = new Promise<'stopped'>((resolve) => {
  let askedAtMs: number | undefined;
  const stop = () => {
    const nowMs = performance.now();
    askedAtMs ??= nowMs;
    resolve('stopped');
    // Whoever asks again does not want to wait; but a shell and its terminal may both pass on the one Ctrl-C.
    if (nowMs - askedAtMs > 500) process.exit(130);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
});

try {
  timeline.plain('Best-effort notification: a platform tells a merchant "paid". Opening the stores…');
  await using stage = await openStage(
    timeline,
    isOnce ? { platform: 0, merchant: 0 } : { platform: 4100, merchant: 4200 },
  );
  introduce(stage);
  timeline.start();
  // A value, not a catch: a story that is stopped half-way fails too, later, and nobody has to hear of that.
  const told = tellStory(stage).then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  const ending = await Promise.race([told, stopped]);
  if (ending !== 'stopped') {
    if (ending !== undefined) brokeOff(ending.error);
    await conclude(stage);
    if (!isOnce) await stayUp(stage, stopped);
  } else if (isOnce) {
    process.exitCode = 130; // the story was not told to its end
  }
} catch (error) {
  brokeOff(error);
}

function brokeOff(error: unknown): void {
  process.exitCode = 1;
  timeline.plain(`The story broke off: ${describe(error)}`);
}

function introduce({ platformStore, merchantStore }: Stage): void {
  timeline.plain(`  platform   orders and outbox in ${platformStore.description}`);
  timeline.plain(`  merchant   idempotency records in ${merchantStore.description}`);
  timeline.plain(
    '  gaps       SHORTENED: policy alipay 600 times faster, so 0.4 s stands for 4 min and 1 s for 10 min',
  );
  timeline.plain(`  attempts   CUT to ${maxAttempts} of its 8, so that one is given up while you watch`);
}

async function conclude(staged: Stage): Promise<void> {
  const { tally, faults } = await audit(staged);
  if (faults.length > 0) process.exitCode = 1;
  timeline.title(faults.length === 0 ? 'Nothing was lost, and nothing took effect twice' : 'Something went wrong');
  for (const fault of faults) timeline.plain(`  ${fault}`);
  timeline.plain(JSON.stringify(tally));
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message} (${describe(error.cause)})`;
}
