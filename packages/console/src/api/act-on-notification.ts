import { BadInput, json, type Answer } from '../answer.js';
import { flagMember, onlyMembers, stateMember, textMember } from '../read-input.js';
import { actionOf, limitsOf, type Call } from './call.js';

/** Sends a settled notification again. `seen` is the state the operator saw: if it has changed, nothing happens. */
export async function resend(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note', 'seen', 'url', 'acceptDuplicateEffect']);
  const seen = stateMember(call.input, 'seen');
  if (seen === undefined) throw new BadInput('Member seen must say in which state it was when this was asked for.');
  const url = textMember(call.input, 'url');
  await call.options.sender.operations.resend(call.id, {
    ...action(call),
    onlyIf: seen,
    acceptDuplicateEffect: flagMember(call.input, 'acceptDuplicateEffect'),
    ...(url !== undefined && url !== '' && { url }),
  });
  return current(call);
}

/** Makes a pending notification due at once. */
export async function sendNow(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note']);
  await call.options.sender.operations.sendNow(call.id, action(call));
  return current(call);
}

/** Ends a pending notification without sending it. */
export async function cancel(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note']);
  await call.options.sender.operations.cancel(call.id, action(call));
  return current(call);
}

/** Records that a dead notification was made good by hand; the note says how. */
export async function close(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note']);
  const note = textMember(call.input, 'note')?.trim() ?? '';
  if (note === '') throw new BadInput('A note must say how it was made good.');
  await call.options.sender.operations.close(call.id, { ...action(call), note });
  return current(call);
}

function action(call: Call) {
  return actionOf(call, textMember(call.input, 'note'));
}

async function current(call: Call): Promise<Answer> {
  const { id, state, isClaimed } = await call.options.sender.operations.show(call.id, limitsOf(call));
  return json({ id, state, isClaimed });
}
