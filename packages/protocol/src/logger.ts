import { removeSecrets } from './remove-secrets.js';

/** A logger of the host, in the shape of pino: facts first, then the line for people. */
export interface Logger {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  /** When it is there, every line is written by a child that knows who speaks. */
  child?(bindings: Record<string, unknown>): Logger;
  /** When it is there, a line that nobody keeps is not made. */
  isLevelEnabled?(level: string): boolean;
}

/** What a log line says of an error. */
export interface ErrorFacts {
  type: string;
  code?: string;
  /** Its first line. */
  message: string;
  /** Where it was thrown; without the message, which may have many lines. */
  stack?: string;
  cause?: ErrorFacts;
}

const maxMessageLength = 500;
const maxCauses = 3;

/**
 * An error in plain words. Database layers put the parameters of a statement, bodies among them, into the later lines of
 * a message and into fields of the error: neither is taken, and what looks like a secret is removed.
 */
export function errorFacts(error: unknown, depth = 0): ErrorFacts {
  if (!(error instanceof Error)) return { type: typeof error, message: firstLine(String(error)) };
  const { name, message, stack, cause } = error;
  const { code } = error as { code?: unknown };
  const frames = stack?.split('\n').filter((line) => /^\s+at /.test(line));
  return {
    type: name,
    ...(typeof code === 'string' && { code }),
    message: firstLine(message),
    ...(frames !== undefined && frames.length > 0 && { stack: frames.join('\n') }),
    ...(cause !== undefined && depth < maxCauses && { cause: errorFacts(cause, depth + 1) }),
  };
}

function firstLine(text: string): string {
  return removeSecrets(text.split(/[\r\n]/, 1)[0] ?? '').slice(0, maxMessageLength);
}
