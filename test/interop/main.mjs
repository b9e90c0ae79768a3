// Everything that speaks this protocol without our code, in both directions. Started by `npm run interop`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { endOnInterrupt } from '../scripts/interrupt.mjs';
import { checkBodyHmacSender } from './body-hmac-sender.mjs';
import { checkLibraries } from './libraries.mjs';
import { checkPhpPlatform } from './php-platform.mjs';
import { checkReceiver } from './receiver-cases.mjs';
import { findPhp, findRuntimes, whyNoPostgresIn } from './runtimes.mjs';
import { createScore } from './score.mjs';
import { openSender } from './through-sender.mjs';
import { checkVectors } from './vectors.mjs';

export async function runInterop(progress) {
  const score = createScore();
  await checkVectors(score);
  await checkLibraries(score);
  const scratchDir = mkdtempSync(path.join(tmpdir(), 'bestnotify-interop-'));
  const removeScratch = () => rmSync(scratchDir, { recursive: true, force: true });
  const forget = endOnInterrupt(removeScratch);
  try {
    await checkExamples(score, { scratchDir, progress });
  } finally {
    forget();
    removeScratch();
  }
  return score;
}

async function checkExamples(score, { scratchDir, progress }) {
  const php = await findPhp(progress);
  const runtimes = Object.entries(await findRuntimes(php, scratchDir));
  const sender = await openSender(scratchDir);
  try {
    for (const [name, runtime] of runtimes) {
      const row = score.row(`${name} receiver`, 'signed requests');
      const throughSender = score.row(`${name} receiver`, 'our sender delivers');
      if (runtime.why) {
        row.skip(runtime.why);
        throughSender.skip(runtime.why);
        continue;
      }
      progress(`running the ${name} receiver…`);
      await checkReceiver(row, { name, runtime, scratchDir, alsoCheck: (facts) => sender.check(throughSender, facts) });
    }
  } finally {
    await sender.close();
  }
  await checkPhpSenders(score, { ...php, progress });
}

async function checkPhpSenders(score, { php, why, progress }) {
  const sender = score.row('php sender', 'body-hmac, we verify');
  const platform = score.row('php platform', 'enqueues by SQL, we send');
  if (why) {
    sender.skip(why);
    platform.skip(why);
    return;
  }
  await checkBodyHmacSender(sender, php);
  progress('running the php platform…');
  const whyNot = await whyNoPostgresIn(php, progress);
  if (whyNot) platform.skip(whyNot);
  else await checkPhpPlatform(platform, { php, progress });
}
