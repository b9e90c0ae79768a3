import { InputError } from '../errors.js';

const strings = /"(?:[^"\\]|\\.)*"/gs;
const numbers = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * Reads JSON that is going to be written again.
 *
 * @throws {@link InputError} for a number that would lose digits on the way: an amount must not change silently.
 */
export function parseJson(text: string, from: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new InputError({ from, problem: `is no JSON: ${(cause as Error).message}`, cause });
  }
  const lossy = text.replace(strings, '""').match(numbers)?.find(losesDigits);
  if (lossy !== undefined) {
    throw new InputError({ from, problem: `holds the number ${lossy}, which would lose digits. Write it as a string` });
  }
  return value;
}

/** A double keeps 15 significant decimal digits, whatever they are. */
function losesDigits(number: string): boolean {
  const digits = number
    .replace(/[eE].*/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '')
    .replace(/0+$/, '');
  return digits.length > 15 && !Number.isSafeInteger(Number(number));
}
