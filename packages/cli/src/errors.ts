const brand = Symbol.for('@bestnotify/cli/error');

/** Every code that this package throws; each has a heading in docs/errors.md. */
export type CliErrorCode = 'CLI_USAGE' | 'CLI_INPUT' | 'CLI_SECRET' | 'CLI_DATABASE_SILENT';

/** Base of every error this package throws. Branch on `code`, never on `message`. */
export abstract class CliError extends Error {
  abstract readonly code: CliErrorCode;
  readonly [brand] = true;
}

/** True for our errors even when two copies of the package are installed. */
export function isCliError(value: unknown): value is CliError {
  return typeof value === 'object' && value !== null && brand in value;
}

/** Options or arguments that cannot work together, or mean nothing. */
export class UsageError extends CliError {
  override readonly name = 'UsageError'; // a literal: class names do not survive minifiers
  readonly code = 'CLI_USAGE';
  /** The option or argument to change. */
  readonly option: string;

  /** @param facts - `problem` continues "--option …"; `fix` is the next step, a whole sentence. */
  constructor(facts: { option: string; problem: string; fix?: string }) {
    super(`${facts.option} ${facts.problem}.${facts.fix === undefined ? '' : ` ${facts.fix}`}`);
    this.option = facts.option;
  }
}

/** A file, or what came on stdin, that cannot be used. */
export class InputError extends CliError {
  override readonly name = 'InputError';
  readonly code = 'CLI_INPUT';
  readonly from: string;

  constructor(facts: { from: string; problem: string; cause?: unknown }) {
    super(`What was read from ${facts.from} ${facts.problem}.`, { cause: facts.cause });
    this.from = facts.from;
  }
}

/** A secret is needed and none was given, or it cannot be one. The message never holds it. */
export class SecretMissingError extends CliError {
  override readonly name = 'SecretMissingError';
  readonly code = 'CLI_SECRET';

  constructor() {
    super(
      'A secret is needed. Give it in the environment variable BESTNOTIFY_SECRET, or on stdin with --secret-stdin; never as an argument, where other users can read it.',
    );
  }
}

/** The database neither answers nor refuses. A new process gets new connections, so this one ends. */
export class DatabaseSilentError extends CliError {
  override readonly name = 'DatabaseSilentError';
  readonly code = 'CLI_DATABASE_SILENT';
  readonly silentMs: number;

  constructor(facts: { silentMs: number; cause: unknown }) {
    super(
      `The database has not answered for ${Math.round(facts.silentMs / 1000)} s. The worker ends so that its supervisor starts a new one with new connections; nothing is lost.`,
      { cause: facts.cause },
    );
    this.silentMs = facts.silentMs;
  }
}
