const brand = Symbol.for('@bestnotify/console/error');

/** Base of every error this package throws. Branch on `code`, never on `message`. */
export abstract class ConsoleError extends Error {
  abstract readonly code: 'CONSOLE_CONFIGURATION';
  readonly [brand] = true;
}

/** True for our errors even when two copies of the package are installed. */
export function isConsoleError(value: unknown): value is ConsoleError {
  return typeof value === 'object' && value !== null && brand in value;
}

/** Options that cannot work, or an `authorize` that gave something else than it promised. */
export class ConfigurationError extends ConsoleError {
  override readonly name = 'ConfigurationError';
  readonly code = 'CONSOLE_CONFIGURATION';
  readonly option: string;

  constructor(facts: { option: string; problem: string; fix?: string }) {
    super(`Option ${facts.option} ${facts.problem}.${facts.fix === undefined ? '' : ` ${facts.fix}`}`);
    this.option = facts.option;
  }
}
