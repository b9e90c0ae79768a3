import type { Log } from './log.js';

/** Says when the process did not run for a while: a suspended machine, a stopped process, a blocked event loop. */
export function watchPauses(log: Log, nowMs: () => number): () => void {
  const everyMs = 1_000;
  const toleratedMs = 5_000;
  let lastMs = nowMs();
  const timer = setInterval(() => {
    const gapMs = nowMs() - lastMs - everyMs;
    lastMs = nowMs();
    if (gapMs > toleratedMs) {
      log.say('paused', `this process did not run for ${Math.round(gapMs / 1000)} s`, { pausedMs: Math.round(gapMs) });
    }
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}
