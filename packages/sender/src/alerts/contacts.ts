import type { EndpointContext } from '../outbox/endpoints.js';
import { checkChannel, type ContactChannel } from './alert-channel.js';
import type { AlertsChecks } from './alerts-options.js';
import { ConfigurationError } from '../errors.js';
import { contactIdOf, removeContact, storeChannel } from './store-channel.js';

/** Checks a merchant's contact. @throws {@link ConfigurationError} naming what cannot work. */
export function checkContact(contact: ContactChannel, urlRules: AlertsChecks['urlRules']): void {
  checkChannel(contact, 'contact', urlRules);
  if ((contact as { kind: string }).kind === 'function') {
    throw new ConfigurationError({ option: 'contact', problem: 'cannot be a function, which cannot be stored' });
  }
}

/** Stores it in the place of the one before; null takes it away, undefined leaves it. */
export async function putContact(
  context: EndpointContext,
  endpoint: string,
  contact: ContactChannel | null | undefined,
): Promise<void> {
  if (contact === undefined) return;
  await context.database.transaction((tx) =>
    contact === null
      ? removeContact(tx, context, endpoint)
      : storeChannel(tx, context, { id: contactIdOf(endpoint), name: endpoint, channel: contact }),
  );
}
