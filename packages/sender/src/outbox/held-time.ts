/**
 * How long endpoint `e` has been held in all, in ms, with the hold it may be in right now.
 *
 * What a round begins with: the difference to a later total is the time that the endpoint was held meanwhile.
 */
export const heldMs = `(e.held_ms + coalesce((extract(epoch from now() - e.held_at) * 1000)::bigint, 0))`;
