import { userInfo } from 'node:os';
import type { Action } from '@bestnotify/sender';
import type { Streams } from './output/terminal.js';

/** Who does it and why, as the audit keeps it. */
export function auditOf({ env }: Pick<Streams, 'env'>, { actor, note }: { actor?: string; note?: string }): Action {
  return { actor: actor ?? env['BESTNOTIFY_ACTOR'] ?? `cli:${loginName()}`, ...(note !== undefined && { note }) };
}

function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown'; // a user id without a name, usual in containers
  }
}
