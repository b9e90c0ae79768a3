// A receiver that notes when each notification came, and answers `success` after a while, or never.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { serve } from '../harness/child.mjs';

await serve(async ({ answersAfterMs = 0, isSilent = false }) => {
  let arrivals = new Map();
  let requests = 0;
  let answered = 0;
  let onAnswer = () => undefined;
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const atMs = Number(process.hrtime.bigint()) / 1e6;
    const id = request.headers['webhook-id'];
    requests += 1;
    if (id !== undefined && !arrivals.has(id)) arrivals.set(id, atMs);
    request.resume();
    if (isSilent) return;
    const answer = () => {
      response.end('success');
      onAnswer((answered += 1));
    };
    if (answersAfterMs > 0) setTimeout(answer, answersAfterMs);
    else request.once('end', answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: async () => `http://127.0.0.1:${server.address().port}/notify`,
    /** Forgets what came so far. */
    async begin() {
      arrivals = new Map();
      requests = answered = 0;
    },
    /** Resolves when `count` requests are answered, to when that was on the machine's monotonic clock, in ms. */
    answered: ({ count }) =>
      new Promise((resolve) => {
        const check = (now) => now >= count && resolve(Number(process.hrtime.bigint()) / 1e6);
        onAnswer = check;
        check(answered);
      }),
    /** Resolves when `count` requests have come. */
    async came({ count }) {
      while (requests < count) await new Promise((resolve) => setTimeout(resolve, 10));
    },
    /** What came: the first time of each id, in ms, and how many requests there were. */
    arrivals: async () => ({ arrivals: [...arrivals], requests }),
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  };
});
