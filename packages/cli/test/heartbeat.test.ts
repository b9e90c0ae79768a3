import type { Sender, Stats } from '@bestnotify/sender';
import { expect, test } from 'vitest';
import { startHeartbeat } from '../src/work/heartbeat.js';
import type { Log } from '../src/work/log.js';

const stats = { due: 0 } as Stats;
const timeout = () => Object.assign(new Error('no answer'), { code: 'SENDER_DATABASE_TIMEOUT' });
const refused = () => Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });

/** A heartbeat over answers that are played in order; each takes a second of the clock that is passed in. */
function heartbeatOver(answers: readonly (Stats | Error)[], { silentMs = 3_000, lateMs = 0 } = {}) {
  let nowMs = 0;
  let beats = 0;
  const said: string[] = [];
  const log: Pick<Log, 'error' | 'say'> = {
    error: (_facts, message) => said.push(message),
    say: (event) => said.push(event),
  };
  let finish: () => void = () => undefined;
  const played = new Promise<void>((resolve) => (finish = resolve));
  const operations = {
    stats: () => {
      const answer = answers[beats++];
      nowMs += 1_000 + lateMs;
      if (answer === undefined) finish();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer ?? stats);
    },
  } as unknown as Sender['operations'];
  const heartbeat = startHeartbeat({ sender: { operations }, log, nowMs: () => nowMs, everyMs: 1, silentMs });
  return { heartbeat, played, said, beats: () => beats };
}

test('silence for as long as is allowed ends it, and not before', async () => {
  const { heartbeat, beats } = heartbeatOver([stats, ...Array.from({ length: 20 }, timeout)]);
  await expect(heartbeat.failed).rejects.toMatchObject({ code: 'CLI_DATABASE_SILENT', silentMs: 3_000 });
  expect(beats()).toBe(4);
  heartbeat.stop();
});

test('a database that refuses connections is not silent, and one that comes back is greeted', async () => {
  const { heartbeat, played, said } = heartbeatOver([stats, ...Array.from({ length: 10 }, refused), stats]);
  await Promise.race([played, heartbeat.failed]);
  expect(said).toEqual(['the database is away: refused', 'database-back']);
  heartbeat.stop();
});

test('a process that was away does not count that as silence', async () => {
  const { heartbeat, played } = heartbeatOver([stats, timeout(), stats, timeout(), stats], { lateMs: 90_000 });
  await Promise.race([played, heartbeat.failed]);
  heartbeat.stop();
});
