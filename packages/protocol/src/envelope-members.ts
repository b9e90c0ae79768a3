import { EnvelopeError } from './errors.js';

/** The members with a grammar, in the order in which they are written. */
export type EnvelopeMember = 'source' | 'to' | 'type' | 'bizId' | 'subject' | 'occurredAt' | 'sequence';

const visiblePattern = /^[\x21-\x7e]{1,128}$/;
const typePattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;
const momentPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i;

const visible = 'must be 1 to 128 visible ASCII characters without spaces';

/**
 * Checks one member against its grammar.
 *
 * @throws {@link EnvelopeError} that names the member and the grammar, never the value.
 */
export function checkEnvelopeMember(member: EnvelopeMember, value: unknown): void {
  const problem = problemOf(member, value);
  if (problem !== undefined) throw new EnvelopeError({ member, problem });
}

function problemOf(member: EnvelopeMember, value: unknown): string | undefined {
  switch (member) {
    case 'source':
    case 'to':
    case 'bizId':
    case 'subject':
      return typeof value === 'string' && visiblePattern.test(value) ? undefined : visible;
    case 'type':
      if (typeof value === 'string' && typePattern.test(value)) return undefined;
      return 'must be 1 to 64 characters of A-Z a-z 0-9 _ . : - and start with a letter or digit';
    case 'occurredAt':
      if (typeof value === 'string' && isMoment(value)) return undefined;
      return 'must be an RFC 3339 time with an offset, such as 2026-01-01T16:00:00+08:00';
    case 'sequence':
      return Number.isSafeInteger(value) && Number(value) >= 0 ? undefined : 'must be an integer from 0 to 2^53-1';
    default:
      return member satisfies never;
  }
}

/** RFC 3339 §5.6 and §5.7: fields in range, the day in its month, 60 seconds only as a leap second. */
function isMoment(text: string): boolean {
  if (!momentPattern.test(text)) return false;
  const [month, day] = [twoDigits(text, 5), twoDigits(text, 8)];
  if (month < 1 || month > 12 || day < 1 || day > lastDayOf(twoDigits(text, 0) * 100 + twoDigits(text, 2), month)) {
    return false;
  }
  if (twoDigits(text, 11) > 23 || twoDigits(text, 14) > 59 || twoDigits(text, 17) > 60) return false;
  const isUtc = text.endsWith('Z') || text.endsWith('z');
  return isUtc || (twoDigits(text, text.length - 5) <= 23 && twoDigits(text, text.length - 2) <= 59);
}

function lastDayOf(year: number, month: number): number {
  if (month !== 2) return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
}
