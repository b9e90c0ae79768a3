import { rawRequest, runWrk } from './wrk.mjs';

const neededHeadroom = 2;

/**
 * Whether what was measured was the subject, and not the sink or the load generator: each must manage at least twice the
 * measured rate. Prints what it finds.
 *
 * @param limitsPerSecond - by name, what each does alone.
 */
export function hasHeadroom(measuredPerSecond, limitsPerSecond) {
  const verdicts = Object.entries(limitsPerSecond).map(([name, limit]) => {
    const headroom = limit / measuredPerSecond;
    const isEnough = headroom >= neededHeadroom;
    const verdict = isEnough ? 'enough' : `INVALID: under ${neededHeadroom} times, so the ${name} was measured instead`;
    console.log(
      `limit of the ${name}: ${limit} per second, ${headroom.toFixed(1)} times the measured rate; ${verdict}`,
    );
    return isEnough;
  });
  return verdicts.every(Boolean);
}

/** What wrk and nginx do together on this machine, the limit of either: POSTs of `bodyBytes` per second. */
export async function limitPerSecond(sink, { bodyBytes = 1_024, connections = 64, seconds = 3 } = {}) {
  const request = rawRequest({ url: sink.url, body: 'x'.repeat(bodyBytes) });
  const { perSecond } = await runWrk({ url: sink.url, requests: [request], connections, seconds });
  return perSecond;
}
