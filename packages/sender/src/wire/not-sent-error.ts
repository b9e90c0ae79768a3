import { isIPv4 } from 'node:net';
import type { NotSentBecause } from '../worker/outcome.js';

/** Why a connection could not be made. Stays inside the worker: `deliver` turns it into an outcome. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
  readonly because: NotSentBecause;

  constructor(facts: { because: NotSentBecause; problem: string; cause?: unknown }) {
    super(facts.problem, { cause: facts.cause });
    this.because = facts.because;
  }
}

// No descriptors or memory left: nothing that the endpoint could change.
const ourCodes = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** Whether an error is about this machine rather than about the way to the endpoint. */
export function isOurFault(error: unknown): boolean {
  const { code = '', address = '', errors } = error as { code?: string; address?: string; errors?: unknown };
  if (Array.isArray(errors)) {
    return errors.length > 0 && errors.every(isOurFault);
  }
  // For an IPv4 address it means that no local port is left, for an IPv6 one that this machine speaks no IPv6.
  return ourCodes.has(code) || (code === 'EADDRNOTAVAIL' && isIPv4(address));
}

/** One line about an error: its code once, and the addresses that were tried. Never a URL. */
export function describeError(error: unknown): string {
  const { message = '', code, reason, errors } = error as Partial<Record<string, string>> & { errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) {
    return [...new Set(errors.map(describeError))].join('; ');
  }
  const text = reason ?? message; // OpenSSL's message is mostly source lines
  if (text === '') {
    return code ?? String(error);
  }
  return code === undefined || text.includes(code) ? text : `${code}: ${text}`;
}
