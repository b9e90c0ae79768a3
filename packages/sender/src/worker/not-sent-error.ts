import type { NotSentBecause } from './outcome.js';

/** Why a connection could not be made. Stays inside the worker: `deliver` turns it into an outcome. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
  readonly because: NotSentBecause;

  constructor(facts: { because: NotSentBecause; problem: string; cause?: unknown }) {
    super(facts.problem, { cause: facts.cause });
    this.because = facts.because;
  }
}

// No descriptors, ports or memory left: nothing that the endpoint could change.
const ourCodes = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'ENOTSUP']);

/** Whether an error is about this machine rather than about the way to the endpoint. */
export function isOurFault(error: unknown): boolean {
  const { code, errors } = error as { code?: string; errors?: unknown };
  return Array.isArray(errors) ? errors.some(isOurFault) : code !== undefined && ourCodes.has(code);
}

/** One line about an error: its code once, and the addresses that were tried. Never a URL. */
export function describeError(error: unknown): string {
  const { message = '', code, errors } = error as { message?: string; code?: string; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) {
    return [...new Set(errors.map(describeError))].join('; ');
  }
  if (message === '') {
    return code ?? String(error);
  }
  return code === undefined || message.includes(code) ? message : `${code}: ${message}`;
}
