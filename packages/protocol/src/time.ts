/** Tells the time; passed in wherever time matters, so that tests own it. */
export type Clock = () => Date;

/** The machine's clock, the default where none is passed. */
// eslint-disable-next-line no-restricted-syntax -- the one place where this package reads it
export const systemClock: Clock = () => new Date();

/** How far a signed time may lie before or after the receiver's clock, in seconds, both ends included. */
export const toleranceSeconds = 300;

const timestampPattern = /^[1-9][0-9]{0,11}$/;

/** Unix seconds, rounded down: the form that travels in `webhook-timestamp`. */
export function toTimestampSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}

/** Reads `webhook-timestamp`: unix seconds, 1 to 12 digits, no sign, no leading zero. Anything else is `undefined`. */
export function parseTimestamp(text: string): number | undefined {
  return timestampPattern.test(text) ? Number(text) : undefined;
}
