import { InvalidArgumentError } from 'commander';

/** For commander: a whole number of at least `from`. */
export function wholeNumber(from = 1): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (!/^\d{1,15}$/.test(text) || number < from) {
      throw new InvalidArgumentError(`It must be a whole number of at least ${from}.`);
    }
    return number;
  };
}

/** For commander: a number above zero. */
export function positiveNumber(text: string): number {
  const number = Number(text);
  if (!(number > 0) || !Number.isFinite(number)) throw new InvalidArgumentError('It must be a number above 0.');
  return number;
}

/** For commander: an option that may be given several times. */
export function collect(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A moment: `2026-01-31`, `2026-01-31T08:00:00Z`, or a time ago: `90s`, `30m`, `24h`, `7d`. */
export function moment(now: () => Date): (text: string) => Date {
  return (text) => {
    const [, count, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
    const perUnitMs = unitMs[unit];
    if (count !== undefined && perUnitMs !== undefined) return new Date(now().getTime() - Number(count) * perUnitMs);
    const at = /^\d{4}-\d{2}-\d{2}([T ]\S+)?$/.test(text) ? new Date(text) : undefined;
    if (at === undefined || Number.isNaN(at.getTime())) {
      throw new InvalidArgumentError(
        'It must be a moment like 2026-01-31T08:00:00Z, or a time ago like 90s, 30m, 24h, 7d.',
      );
    }
    return at;
  };
}
