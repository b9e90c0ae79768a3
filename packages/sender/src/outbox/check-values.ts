import { ConfigurationError } from '../errors.js';

/**
 * Checks a text that PostgreSQL must hold or compare: no NUL, no half of a surrogate pair.
 *
 * @throws {@link ConfigurationError} naming the option.
 */
export function checkText(option: string, value: string, maxLength = Infinity): void {
  if (typeof value !== 'string' || value.length > maxLength || /[\0\p{Surrogate}]/u.test(value)) {
    const length = maxLength === Infinity ? '' : ` of at most ${maxLength} characters`;
    throw new ConfigurationError({ option, problem: `must be a text${length}, well formed and without NUL` });
  }
}

/** The same for a text that may be left out. */
export function checkOptionalText(option: string, value: string | undefined): void {
  if (value !== undefined) checkText(option, value);
}

/** @throws {@link ConfigurationError} unless it is left out, or a list of texts that {@link checkText} accepts. */
export function checkTexts(option: string, values: readonly string[] | undefined): void {
  if (values === undefined) return;
  if (!Array.isArray(values)) throw new ConfigurationError({ option, problem: 'must be a list of texts' });
  for (const [index, value] of (values as readonly string[]).entries()) checkText(`${option}[${index}]`, value);
}

const firstMoment = Date.parse('0001-01-02T00:00:00Z');
const lastMoment = Date.parse('9999-12-30T00:00:00Z');

/** @throws {@link ConfigurationError} unless it is left out, or a moment that PostgreSQL reads as JavaScript writes it. */
export function checkMoment(option: string, value: Date | undefined): void {
  if (value === undefined) return;
  const at = value instanceof Date ? value.getTime() : Number.NaN;
  if (!(at >= firstMoment && at <= lastMoment)) {
    throw new ConfigurationError({ option, problem: 'must be a Date of the years 1 to 9999' });
  }
}

/** @throws {@link ConfigurationError} unless it is a number within the bounds. */
export function checkNumber(option: string, value: number, ...[from, to]: [from: number, to: number]): void {
  if (!(typeof value === 'number' && value >= from && value <= to)) {
    throw new ConfigurationError({ option, problem: `must be a number from ${from} to ${to} (got ${String(value)})` });
  }
}

/** @throws {@link ConfigurationError} unless it is true, false or left out. */
export function checkFlag(option: string, value: boolean | undefined): void {
  if (value !== undefined && typeof value !== 'boolean') {
    throw new ConfigurationError({ option, problem: 'must be true or false' });
  }
}

/** @throws {@link ConfigurationError} unless it is an object that is no list. */
export function checkObject(option: string, value: object): void {
  if (typeof value !== 'object' || (value as object | null) === null || Array.isArray(value)) {
    throw new ConfigurationError({ option, problem: 'must be an object' });
  }
}

/** @throws {@link ConfigurationError} unless it is a list; `of` says what it lists, with an example. */
export function checkList(option: string, value: readonly unknown[], of: { what: string; fix?: string }): void {
  if (Array.isArray(value)) return;
  const { what, ...fix } = of;
  throw new ConfigurationError({ option, problem: `must be a list of ${what}`, ...fix });
}
