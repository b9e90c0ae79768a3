import { ConfigurationError } from '../errors.js';
import { checkList, checkObject } from '../outbox/check-values.js';
import { checkWhole } from '../options.js';
import { resolvePolicy, type PolicyRule } from '../rules/policies.js';
import type { UrlRules } from '../rules/urls.js';
import { alertKinds, type AlertKind } from './alert.js';
import { checkAddresses, checkChannel, checkLocale, type AlertChannel } from './alert-channel.js';
import type { AlertLocale } from './alert-words.js';

/** The server that e-mail goes out by. Needs the package nodemailer. */
export interface EmailOptions {
  /** `smtps://user:password@mail.example:465`. */
  smtp: string;
  /** The address that alerts come from. */
  from: string;
}

/** What shows from outside that this worker is alive and its outbox answers. */
export interface AlertHeartbeatOptions {
  /** POSTed to, with an empty body; what watches it raises the alarm when it stays silent. Kept out of logs. */
  url: string;
  /** @default 60_000 */
  everyMs?: number;
  /** @default false */
  allowHttp?: boolean;
  /** As for an endpoint. @default false */
  allowPrivateNetwork?: boolean | readonly string[];
}

/** Who is told when something goes wrong, and how often. */
export interface AlertsOptions {
  /** Where alerts go, by a name of your own: every alert goes to each of them, with retries of its own. */
  channels?: Readonly<Record<string, AlertChannel>>;
  /** For channels and contacts of kind `email`. */
  email?: EmailOptions;
  /** @default 'en' */
  locale?: AlertLocale;
  /** Which kinds operators are told of. @default all of them */
  kinds?: readonly AlertKind[];
  /** After an alert, more of its kind is gathered for so long, in ms; twice as long each time while it goes on. @default 600_000 */
  windowMs?: number;
  /** At most, in ms. @default 3_600_000 */
  longestWindowMs?: number;
  /** Notifications that have been due for longer than this raise an alert, in ms. @default 900_000 */
  overdueMs?: number;
  /** How often the outbox is looked through, in ms. A worker looks at once when something dies in its own hands. @default 10_000 */
  checkEveryMs?: number;
  /** How often, and how long, an alert is tried. @default { gapsMs: [10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000] } */
  policy?: string | PolicyRule;
  heartbeat?: AlertHeartbeatOptions;
}

export const alertsDefaults = {
  locale: 'en',
  windowMs: 600_000,
  longestWindowMs: 3_600_000,
  overdueMs: 900_000,
  checkEveryMs: 10_000,
  policy: { gapsMs: [10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000, 10_800_000] },
} as const satisfies Partial<AlertsOptions>;

/** How often the heartbeat beats, in ms. */
const heartbeatEveryMs = 60_000;

/** Options that were checked, with their defaults. */
export interface ResolvedAlerts extends Required<Omit<AlertsOptions, 'email' | 'heartbeat' | 'policy'>> {
  email: EmailOptions | undefined;
  heartbeat: (AlertHeartbeatOptions & { everyMs: number }) | undefined;
  /** As the outbox stores it. */
  policy: string;
}

/** What options are checked against. */
export interface AlertsChecks {
  policies: Readonly<Record<string, PolicyRule>>;
  urlRules: (endpointAllows: boolean | readonly string[]) => Pick<UrlRules, 'allowedPorts' | 'addresses'>;
}

/** @throws {@link ConfigurationError} naming the option; the message holds no URL and no secret. */
export function resolveAlerts(given: AlertsOptions, { policies, urlRules }: AlertsChecks): ResolvedAlerts {
  checkObject('alerts', given);
  const { channels = {}, email, heartbeat, kinds = alertKinds } = given;
  const { locale = alertsDefaults.locale, windowMs = alertsDefaults.windowMs } = given;
  const { longestWindowMs = Math.max(alertsDefaults.longestWindowMs, windowMs) } = given;
  const { overdueMs = alertsDefaults.overdueMs, checkEveryMs = alertsDefaults.checkEveryMs } = given;
  const policy = resolvePolicy(given.policy ?? alertsDefaults.policy, policies, 'alerts.policy').text;
  checkLocale(locale, 'alerts.locale');
  checkWhole('alerts.windowMs', windowMs, 1_000, 86_400_000);
  checkWhole('alerts.longestWindowMs', longestWindowMs, windowMs, 7 * 86_400_000);
  checkWhole('alerts.overdueMs', overdueMs, 1_000, 7 * 86_400_000);
  checkWhole('alerts.checkEveryMs', checkEveryMs, 10, 3_600_000);
  checkObject('alerts.channels', channels);
  if (email !== undefined) checkObject('alerts.email', email);
  if (heartbeat !== undefined) checkObject('alerts.heartbeat', heartbeat);
  checkList('alerts.kinds', kinds, { what: alertKinds.join(', ') });
  for (const kind of kinds) {
    if (!alertKinds.includes(kind)) {
      throw new ConfigurationError({ option: 'alerts.kinds', problem: `must be of ${alertKinds.join(', ')}` });
    }
  }
  for (const [name, channel] of Object.entries(channels)) {
    const option = `alerts.channels.${name}`;
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
      throw new ConfigurationError({
        option: 'alerts.channels',
        problem: 'has a name that is not 1 to 64 of A-Z a-z 0-9 _ -',
      });
    }
    checkChannel(channel, option, urlRules);
    if (channel.kind === 'email' && email === undefined) {
      throw new ConfigurationError({ option: 'alerts.email', problem: `is missing, and the channel ${name} needs it` });
    }
  }
  if (email !== undefined) checkEmail(email);
  return {
    ...{ channels, email, locale, kinds, windowMs, longestWindowMs, overdueMs, checkEveryMs, policy },
    heartbeat: heartbeat === undefined ? undefined : checkHeartbeat(heartbeat, urlRules),
  };
}

function checkEmail({ smtp, from }: EmailOptions): void {
  const url = typeof smtp === 'string' && URL.canParse(smtp) ? new URL(smtp) : undefined;
  if (url === undefined || !['smtp:', 'smtps:'].includes(url.protocol) || url.hostname === '') {
    throw new ConfigurationError({
      option: 'alerts.email.smtp',
      problem: 'is no SMTP server',
      fix: "Write 'smtps://user:password@mail.example:465'.",
    });
  }
  checkAddresses([from], 'alerts.email.from');
}

function checkHeartbeat(heartbeat: AlertHeartbeatOptions, urlRules: AlertsChecks['urlRules']) {
  const { everyMs = heartbeatEveryMs } = heartbeat;
  checkChannel({ kind: 'slack', ...heartbeat }, 'alerts.heartbeat', urlRules); // a URL, under the same rules
  checkWhole('alerts.heartbeat.everyMs', everyMs, 10, 86_400_000);
  return { ...heartbeat, everyMs };
}
