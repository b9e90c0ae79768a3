import type { Sender } from '@bestnotify/sender';
import type { IncomingMessage } from 'node:http';
import { ConfigurationError } from './errors.js';

/**
 * What a person may do. A `viewer` sees what was sent and how it went, but neither bodies nor replies; a `reader` sees
 * those too; an `operator` may act.
 */
export type Role = 'viewer' | 'reader' | 'operator';

const roles: readonly Role[] = ['viewer', 'reader', 'operator'];

/** Who is asking, and what is theirs. */
export interface Access {
  /** Who it is; kept in the audit. */
  actor: string;
  role: Role;
  /** Only these endpoints, their notifications and their audit. Left out, all of them. */
  endpoints?: readonly string[];
}

/** Decides who a request comes from; undefined answers 401. A throw answers 500 and lets nobody in. */
export type Authorize = (request: IncomingMessage) => Access | undefined | Promise<Access | undefined>;

export interface ConsoleOptions {
  /** The sender whose outbox is shown. */
  sender: Pick<Sender, 'source' | 'operations' | 'endpoints'>;
  /** Asked for every request, those for the page's own files included. */
  authorize: Authorize;
  /** Sent as `www-authenticate` with a 401, so that a browser asks: `Basic realm="ops"`. @default undefined */
  challenge?: string | undefined;
  /** Origins that the page is opened from, where a proxy hides them: `https://ops.example.com`. @default [] */
  origins?: readonly string[];
  /** Told of what goes wrong inside; the answer then says no more than that. @default a process warning */
  onError?: (error: unknown) => void;
}

/** @throws {@link ConfigurationError} without a sender or without `authorize`: there is no console that is open to all. */
export function checkOptions(given: ConsoleOptions): Required<ConsoleOptions> {
  // Callers without types may leave anything out.
  const { sender, authorize, challenge, origins = [], onError = warn } = given as Partial<ConsoleOptions>;
  if (typeof sender?.operations.list !== 'function') {
    throw new ConfigurationError({ option: 'sender', problem: 'must be what createSender() returned' });
  }
  if (typeof authorize !== 'function') {
    throw new ConfigurationError({
      option: 'authorize',
      problem: 'is missing, and a console that is open to everyone is not built',
      fix: 'Give a function that returns { actor, role } for a request, or undefined.',
    });
  }
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (wrong !== undefined) {
    throw new ConfigurationError({
      option: 'origins',
      problem: `holds ${JSON.stringify(wrong)}, which is no origin`,
      fix: 'Write it like https://ops.example.com, without a path.',
    });
  }
  return { sender, authorize, challenge, origins, onError };
}

/** @throws {@link ConfigurationError} if `authorize` gave something that is no access: then nobody is let in. */
export function checkAccess(access: Access): Access {
  const { actor, role, endpoints } = access as Partial<Access>;
  const problem =
    typeof actor !== 'string' || actor === ''
      ? 'gave no actor'
      : role === undefined || !roles.includes(role)
        ? `gave the role ${JSON.stringify(role)}, which is none of ${roles.join(', ')}`
        : endpoints !== undefined && !(Array.isArray(endpoints) && endpoints.every((id) => typeof id === 'string'))
          ? 'gave endpoints that are no list of ids'
          : undefined;
  if (problem !== undefined) throw new ConfigurationError({ option: 'authorize', problem });
  return access;
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? (error.stack ?? error.message) : String(error), {
    code: 'BESTNOTIFY_CONSOLE',
  });
}
