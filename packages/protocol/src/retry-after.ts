const secondsPattern = /^[0-9]+$/;
const maxSeconds = 2 ** 31; // RFC 9110 §10.2.3 sets no limit; callers cap far below this

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
// The three forms that RFC 9110 §5.6.7 asks a recipient to read; the day name is not checked against the date.
const imfPattern = /^[a-z]{3}, (\d{2}) ([a-z]{3}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
const rfc850Pattern = /^[a-z]{6,9}, (\d{2})-([a-z]{3})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/i;
const asctimePattern = /^[a-z]{3} ([a-z]{3}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/i;

/**
 * Reads `retry-after`: whole seconds, or an HTTP date. A sign, a fraction, a date in the past or anything else counts as absent.
 *
 * @param now - what a date is measured against.
 * @returns the wait in ms, uncapped up to 2^31 s.
 */
export function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
  const text = value?.replace(/^[ \t]+|[ \t]+$/g, '');
  if (text === undefined || text === '') return undefined;
  if (secondsPattern.test(text)) return Math.min(Number(text), maxSeconds) * 1000;
  const at = parseHttpDate(text, now);
  if (at === undefined || at < now.getTime()) return undefined;
  return Math.min(at - now.getTime(), maxSeconds * 1000);
}

function parseHttpDate(text: string, now: Date): number | undefined {
  const imf = imfPattern.exec(text);
  if (imf) return toMs({ day: imf[1], month: imf[2], year: Number(imf[3]), time: imf.slice(4) });
  const rfc850 = rfc850Pattern.exec(text);
  if (rfc850)
    return toMs({ day: rfc850[1], month: rfc850[2], year: fullYear(Number(rfc850[3]), now), time: rfc850.slice(4) });
  const asctime = asctimePattern.exec(text);
  if (asctime) return toMs({ day: asctime[2], month: asctime[1], year: Number(asctime[6]), time: asctime.slice(3, 6) });
  return undefined;
}

/** A two-digit year more than 50 years ahead is the most recent past one with these digits (RFC 9110 §5.6.7). */
function fullYear(twoDigits: number, now: Date): number {
  const thisYear = now.getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}

function toMs(date: {
  day: string | undefined;
  month: string | undefined;
  year: number;
  time: string[];
}): number | undefined {
  const day = Number(date.day);
  const month = months.indexOf(String(date.month).toLowerCase());
  const [hour = 0, minute = 0, second = 0] = date.time.map(Number);
  if (month === -1 || hour > 23 || minute > 59 || second > 60) return undefined;
  const at = new Date(Date.UTC(date.year, month, day, hour, minute, second));
  const rolledOver = new Date(Date.UTC(date.year, month, day)).getUTCDate() !== day; // 31 June
  return rolledOver ? undefined : at.getTime();
}
