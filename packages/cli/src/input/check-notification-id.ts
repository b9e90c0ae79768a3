import { UsageError } from '../errors.js';

/** Business ids may begin with `ntf_` too, but do not go on like that. */
export function isNotificationId(text: string): boolean {
  return /^ntf_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
}

/**
 * An action is for one notification, and a business id may be that of several.
 *
 * @param verb - the command that was given `text`.
 * @throws {@link UsageError} naming the command that finds the id.
 */
export function checkNotificationId(text: string, verb: string): void {
  if (isNotificationId(text)) return;
  throw new UsageError({
    option: 'id',
    problem: `is ${JSON.stringify(text)}, and ${verb} takes the id of one notification (ntf_…)`,
    fix: `bestnotify show ${/^[\w.:-]+$/.test(text) ? text : '<id>'} finds it by its business id or subject.`,
  });
}
