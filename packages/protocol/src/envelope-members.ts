import { EnvelopeError } from './errors.js';

/** The members with a grammar, in the order in which they are written. */
export type EnvelopeMember = 'source' | 'to' | 'type' | 'bizId' | 'subject' | 'occurredAt' | 'sequence';

const visiblePattern = /^[\x21-\x7e]{1,128}$/;
const typePattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;
const momentPattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-](\d{2}):(\d{2}))$/i;

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
  const fields = momentPattern.exec(text);
  if (fields === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, offsetHour = 0, offsetMinute = 0] = fields
    .slice(1)
    .map((digits: string | undefined) => Number(digits ?? '0'));
  const lastDay = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate(); // the calendar repeats every 400 years
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= lastDay;
  return isDate && hour <= 23 && minute <= 59 && second <= 60 && offsetHour <= 23 && offsetMinute <= 59;
}
