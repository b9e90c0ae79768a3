import { errorFacts, type Logger, type ReplyReason } from '@bestnotify/protocol';
import { tell } from '../hooks.js';
import type { Answer } from '../processor.js';
import type { Warn } from '../warn.js';

type Level = 'debug' | 'info' | 'warn' | 'error';

/** `error` is for what somebody must look at: a failed effect, another payload under a known id, a set-up that cannot work. */
const levels: Readonly<Record<ReplyReason, Level>> = {
  handled: 'debug',
  duplicate: 'debug',
  stale: 'debug',
  ignored: 'debug',
  'in-progress': 'debug',
  'retry-later': 'info',
  'payload-conflict': 'error',
  'handler-error': 'error',
  'store-unavailable': 'error',
  'raw-body-missing': 'error',
  'invalid-signature': 'warn',
  'stale-timestamp': 'warn',
  'wrong-audience': 'warn',
  malformed: 'warn',
  'too-large': 'warn',
  'unsupported-encoding': 'warn',
  'body-timeout': 'warn',
  'method-not-allowed': 'warn',
};

/** Writes one line for a request that was answered. Nothing of its body is in it. */
export function logReply(logger: Logger, { reason, error, opened }: Answer): void {
  const level = levels[reason];
  if (logger.isLevelEnabled?.(level) === false) return;
  const { id, type, bizId, subject = null } = opened?.notification ?? {};
  const facts = {
    event: 'answered',
    reason,
    ...(id !== undefined && { id, type, bizId, subject }),
    ...(error !== undefined && { error: errorFacts(error) }),
  };
  const about = id === undefined ? '' : ` ${type} ${bizId} (${id})`;
  const because = facts.error === undefined ? '' : `: ${facts.error.message}`;
  tell(() => logger[level](facts, `${reason}${about}${because}`), undefined);
}

/** Advice goes where the lines go. */
export function warnInto(logger: Logger): Warn {
  return ({ code, message }) => logger.warn({ event: 'warning', code }, message);
}

/** Every line says who speaks, where the logger can. */
export function ownLogger(host: Logger): Logger {
  return host.child?.({ component: '@bestnotify/receiver' }) ?? host;
}
