import type { IncomingMessage } from 'node:http';
import type { Access, ConsoleOptions } from '../options.js';
import type { Input } from '../read-input.js';

/** One authorized request, as a route sees it. */
export interface Call {
  request: IncomingMessage;
  access: Access;
  options: Required<ConsoleOptions>;
  /** The part of the path that a route names `:id`. */
  id: string;
  /** The part that a route names `:number`. */
  number: string;
  /** Members of the query, or of the body of an action. */
  input: Input;
}

/** What the one who asks is limited to, for the sender to put into its SQL. */
export function limitsOf({ access }: Call): { endpoints?: readonly string[] } {
  return access.endpoints === undefined ? {} : { endpoints: access.endpoints };
}

/** Who acts, why, and within which limits. */
export function actionOf(call: Call, note: string | undefined) {
  return { actor: call.access.actor, ...limitsOf(call), ...(note !== undefined && note.trim() !== '' && { note }) };
}

/** Whether the one who asks may see bodies and replies. */
export function seesBodies({ access }: Call): boolean {
  return access.role !== 'viewer';
}
