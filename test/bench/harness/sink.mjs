import { startServices } from '../../scripts/services.mjs';

/**
 * An nginx that answers every request with 200 `success`, and counts them.
 *
 * @returns its `url` (ends in a slash; any path will do), `requests()` for how many it has had so far, and `stop()`.
 */
export async function startSink() {
  const { sinkUrl, stop } = await startServices({ only: ['sink'], onProgress: (line) => console.error(line) });
  let ownRequests = 0;
  const requests = async () => {
    ownRequests++;
    const status = await (await fetch(new URL('sink-status', sinkUrl))).text();
    const [, total] = /\n \d+ \d+ (\d+)/.exec(status);
    return Number(total) - ownRequests;
  };
  return { url: sinkUrl, requests, stop };
}
