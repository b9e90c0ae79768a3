import type { Hooks } from '../hooks.js';
import { everyNetwork } from '../outbox/endpoint-columns.js';
import type { EndpointContext } from '../outbox/endpoints.js';
import type { PolicyRule } from '../rules/policies.js';
import type { Deliverer } from '../worker/deliver.js';
import type { ContactChannel } from './alert-channel.js';
import { createAlertWatch, type AlertWatch } from './alert-watch.js';
import { alertsDefaults, resolveAlerts, type AlertsChecks, type AlertsOptions } from './alerts-options.js';
import { checkContact, putContact } from './contacts.js';
import { deliverAlerts } from './deliver-alert.js';
import { removeContact } from './store-channel.js';

/** What alerts need of their sender. */
export interface AlertsParts {
  endpoints: EndpointContext;
  policies: Readonly<Record<string, PolicyRule>>;
  /** Types whose dead nobody is told of. */
  abandoned: readonly string[];
  hooks: Hooks;
  openDeliverer: () => Deliverer;
  nowMs: () => number;
  /** Uniform in [0, 1). */
  random: () => number;
  /** Alerts were enqueued. */
  onWritten: () => void;
}

/** A sender's alerts, whatever of them it was given: every worker delivers what any other has enqueued. */
export interface Alerts {
  /** Undefined without the option: then nobody looks. */
  readonly watch: AlertWatch | undefined;
  over(deliverer: Deliverer, requestTimeoutMs: number): Deliverer;
  /** Runs `put` and stores the contact after it, but checks it first. */
  withContact<T>(endpoint: { id: string; contact?: ContactChannel | null }, put: () => Promise<T>): Promise<T>;
  removeContact(endpoint: string): Promise<void>;
}

/** @throws ConfigurationError naming the option that cannot work. */
export function openAlerts(given: AlertsOptions | undefined, parts: AlertsParts): Alerts {
  const { endpoints } = parts;
  const urlRules: AlertsChecks['urlRules'] = (allows) =>
    endpoints.urlRules(typeof allows === 'boolean' ? (allows ? everyNetwork : []) : allows);
  const options = given && resolveAlerts(given, { policies: parts.policies, urlRules });
  return {
    watch: options && createAlertWatch({ ...parts, options }),
    over: (deliverer, requestTimeoutMs) => {
      const { channels = {}, email, locale = alertsDefaults.locale } = options ?? {};
      return deliverAlerts(deliverer, { channels, email, locale, requestTimeoutMs });
    },
    withContact: async ({ id, contact }, put) => {
      if (contact != null) checkContact(contact, urlRules);
      const result = await put();
      await putContact(endpoints, id, contact);
      return result;
    },
    removeContact: (endpoint) => removeContact(endpoints.database, endpoints, endpoint),
  };
}
