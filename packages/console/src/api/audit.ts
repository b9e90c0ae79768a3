import { json, type Answer } from '../answer.js';
import { numberMember, onlyMembers, textMember } from '../read-input.js';
import { limitsOf, type Call } from './call.js';

/** Who did what, newest first. */
export async function listAudit(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['notification', 'endpoint', 'after', 'limit']);
  const [notification, endpoint, after] = ['notification', 'endpoint', 'after'].map((name) =>
    textMember(call.input, name),
  );
  const limit = numberMember(call.input, 'limit', { min: 1, max: 200 });
  const page = await call.options.sender.operations.audit({
    ...limitsOf(call),
    ...(notification !== undefined && { notification }),
    ...(endpoint !== undefined && { endpoint }),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit: Math.floor(limit) }),
  });
  return json(page);
}
