import { openStage, type Stage } from './stage.js';
import { tellStory } from './story.js';
import { audit } from './tally.js';
import { Timeline } from './timeline.js';
import { stayUp } from './stay-up.js';

// `--once` plays the story, prints the tally as one line of JSON, and exits: 0, or 1 if anything was lost or took effect twice.
const isOnce = process.argv.includes('--once');
const timeline = new Timeline();

const stopped = new Promise<'stopped'>((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      process.once(signal, () => process.exit(130)); // whoever asks twice does not want to wait
      resolve('stopped');
    });
  }
});

timeline.plain('Best-effort notification: a platform tells a merchant "paid".');
const stage = await openStage(timeline, isOnce ? { platform: 0, merchant: 0 } : { platform: 4100, merchant: 4200 });
try {
  introduce(stage);
  if ((await Promise.race([tellStory(stage), stopped])) !== 'stopped') {
    await conclude(stage);
    if (!isOnce) await stayUp(stage, stopped);
  }
} catch (error) {
  process.exitCode = 1;
  timeline.plain(`The story broke off: ${error instanceof Error ? error.message : String(error)}`);
} finally {
  await stage.close();
}

function introduce({ platformStore, merchantStore }: Stage): void {
  timeline.plain(`  platform   orders and outbox in ${platformStore.description}`);
  timeline.plain(`  merchant   idempotency records in ${merchantStore.description}`);
  timeline.plain('  gaps       those of policy alipay, 600 times shorter: 0.4 s here stands for 4 min, 1 s for 10 min');
}

async function conclude(staged: Stage): Promise<void> {
  const { tally, faults } = await audit(staged);
  if (faults.length > 0) process.exitCode = 1;
  timeline.title(faults.length === 0 ? 'Nothing was lost, and nothing took effect twice' : 'Something went wrong');
  for (const fault of faults) timeline.plain(`  ${fault}`);
  timeline.plain(JSON.stringify(tally));
}
