/**
 * How long each payment took from its commit to its receiver, in ms.
 *
 * @param paid - what a platform's `payAtRate` gave.
 * @param leadIn - so many of the first ones do not count: a worker that had nothing to do looks every two seconds.
 * @throws if one has not come.
 */
export async function latencies(receiver, paid, leadIn = 0) {
  await receiver.ask('came', { count: paid.length });
  const { arrivals } = await receiver.ask('arrivals');
  const arrivedAtMs = new Map(arrivals);
  return paid.slice(leadIn).map(({ id, committedAtMs }) => {
    const atMs = arrivedAtMs.get(id);
    if (atMs === undefined) throw new Error(`${id} has not come`);
    return atMs - committedAtMs;
  });
}
