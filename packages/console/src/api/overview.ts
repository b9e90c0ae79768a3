import { json, type Answer } from '../answer.js';
import { csrfToken } from '../csrf.js';
import { momentMember, numberMember, onlyMembers } from '../read-input.js';
import type { SessionShape } from '../shapes.js';
import { limitsOf, type Call } from './call.js';

/** Who is asking, and what the page needs to act. */
export function session({ request, access, options }: Call): Answer {
  const { token, cookie } = csrfToken(request);
  const { actor, role, endpoints } = access;
  const shape: SessionShape = {
    actor,
    role,
    source: options.sender.source,
    endpoints: endpoints ?? null,
    csrfToken: token,
  };
  const answer = json(shape);
  return cookie === undefined ? answer : { ...answer, headers: { ...answer.headers, 'set-cookie': cookie } };
}

/** How the outbox is doing, now and in the last minutes. */
export async function overview(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['minutes', 'today']);
  const minutes = numberMember(call.input, 'minutes', { min: 5, max: 180 }) ?? 60;
  const today = momentMember(call.input, 'today');
  const { operations } = call.options.sender;
  const [stats, activity] = await Promise.all([
    operations.stats({ ...limitsOf(call), ...(today !== undefined && { diedSince: today }) }),
    operations.activity({ ...limitsOf(call), minutes: Math.floor(minutes) }),
  ]);
  return json({ stats, minutes: activity });
}
