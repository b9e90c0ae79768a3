/** Of a row `o` that is due: nobody holds it. What is held stays where it is in the indexes, so whatever looks for work must skip it. */
export const isFree = '(o.claimed_until is null or o.claimed_until <= now())';

/** Of any row `o`: a worker holds it now. */
export const isClaimed = '(o.claim_token is not null and coalesce(o.claimed_until, o.due_at) > now())';

/** More than workers hold of one endpoint in one lane. */
const most = 200;
/** Where fewer than half of so many are held, there is no need to look further. */
const few = 10;

/**
 * How many rows of an endpoint workers hold whose lease is not in `due_at`. They are the first ones that are due, because
 * a claim takes the oldest: the backlog behind them is not read.
 */
export function countClaims(name: string, endpointKey: string): string {
  const amongFirst = (limit: number) => {
    const lanes = [0, 1].map(
      (lane) => `(select o.claimed_until from ${name}.outbox o
        where o.state = 0 and o.lane = ${lane} and o.endpoint_key = ${endpointKey} and o.due_at <= now() order by o.due_at limit ${limit})`,
    );
    return `(select count(*)::int4 from (${lanes.join(' union all ')}) c where c.claimed_until > now())`;
  };
  return `(select case when c.held < ${few / 2} then c.held else ${amongFirst(most)} end from (select ${amongFirst(few)} as held) c)`;
}
