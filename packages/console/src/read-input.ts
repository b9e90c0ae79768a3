import { notificationStates, type NotificationFilter, type NotificationState } from '@bestnotify/sender';
import { BadInput } from './answer.js';

/** Members of a query or of a JSON body, read one by one; what is not known is refused, so that a typing error is noticed. */
export type Input = Readonly<Record<string, unknown>>;

const maxTextLength = 500;

/** The query as members. A name that comes twice is refused: one of the two would be ignored. */
export function queryInput(query: URLSearchParams): Input {
  const input: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of query) {
    if (name in input) throw new BadInput(`Parameter ${name} is there twice.`);
    if (value !== '') input[name] = value;
  }
  return input;
}

export function bodyInput(body: unknown): Input {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new BadInput('The body must be a JSON object.');
  }
  return body as Input;
}

/** @throws {@link BadInput} for a member that is none of `names`. */
export function onlyMembers(input: Input, names: readonly string[]): void {
  const unknown = Object.keys(input).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new BadInput(`Member ${unknown.slice(0, 50)} is not known here.`);
}

export function textMember(input: Input, name: string): string | undefined {
  const value = input[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string' || value.length > maxTextLength || value.includes('\0')) {
    throw new BadInput(`Member ${name} must be a text of at most ${maxTextLength} characters.`);
  }
  return value;
}

export function flagMember(input: Input, name: string): boolean {
  const value = input[name] ?? false;
  if (typeof value !== 'boolean') throw new BadInput(`Member ${name} must be true or false.`);
  return value;
}

/** A number, which in a query is a text. */
export function numberMember(
  input: Input,
  name: string,
  { min, max }: { min: number; max: number },
): number | undefined {
  const value = input[name];
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value;
  if (typeof number !== 'number' || !(number >= min && number <= max)) {
    throw new BadInput(`Member ${name} must be a number from ${min} to ${max}.`);
  }
  return number;
}

export function stateMember(input: Input, name = 'state'): NotificationState | undefined {
  const value = textMember(input, name);
  if (value === undefined) return undefined;
  const state = notificationStates.find((each) => each === value);
  if (state === undefined) throw new BadInput(`Member ${name} must be one of ${notificationStates.join(', ')}.`);
  return state;
}

export function momentMember(input: Input, name: string): Date | undefined {
  const value = textMember(input, name);
  if (value === undefined) return undefined;
  const moment = new Date(value);
  if (!/^\d{4}-\d{2}-\d{2}T/.test(value) || Number.isNaN(moment.getTime())) {
    throw new BadInput(`Member ${name} must be a moment like 2027-01-31T08:00:00Z.`);
  }
  return moment;
}

function idsMember(input: Input): string[] | undefined {
  const value = input['ids'];
  if (value === undefined) return undefined;
  const isList = Array.isArray(value) && value.length >= 1 && value.length <= 500;
  if (!isList || !value.every((id) => typeof id === 'string')) {
    throw new BadInput('Member ids must be a list of 1 to 500 notification ids.');
  }
  return value;
}

export const filterMembers = ['state', 'endpoint', 'type', 'reason', 'since', 'until', 'ids'];

/** Which notifications are meant, without the limits of who asks. */
export function filterOf(input: Input): NotificationFilter {
  const members = {
    state: stateMember(input),
    endpoint: textMember(input, 'endpoint'),
    type: textMember(input, 'type'),
    reason: textMember(input, 'reason'),
    since: momentMember(input, 'since'),
    until: momentMember(input, 'until'),
    ids: idsMember(input),
  };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
