import { parseArgs } from 'node:util';

/**
 * What the command line says, over the defaults: `--rounds 3`, `--peers`. `--quick` takes `quick` instead of the defaults: a run
 * that shows whether the benchmark works, not how fast anything is.
 *
 * @param defaults - numbers and switches by name.
 */
export function readArguments(defaults, quick = {}) {
  const options = Object.fromEntries(
    Object.entries({ ...defaults, quick: false }).map(([name, value]) => [
      name,
      { type: typeof value === 'boolean' ? 'boolean' : 'string' },
    ]),
  );
  const { values } = parseArgs({ options });
  const given = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === 'boolean' ? value : wholeNumber(name, value),
    ]),
  );
  return { ...defaults, ...(values.quick && quick), ...given };
}

function wholeNumber(name, text) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${name} must be a whole number above 0, not ${text}.`);
  return number;
}
