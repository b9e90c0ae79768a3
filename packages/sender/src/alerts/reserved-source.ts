import { ConfigurationError } from '../errors.js';

const prefix = 'bestnotify-alerts:';

/**
 * Alerts are notifications of a source of their own, so that no list, count or claim limit of the platform's holds them.
 *
 * It can be looked at like any other source, `createSender({ source: 'bestnotify-alerts:acme-pay' })`, but not written to.
 */
export function alertSourceOf(source: string): string {
  return `${prefix}${source}`;
}

export function isAlertSource(source: string): boolean {
  return source.startsWith(prefix);
}

/** @throws {@link ConfigurationError} if `source` is one that only alerts are written under. */
export function refuseAlertSource(source: string): void {
  if (!isAlertSource(source)) return;
  throw new ConfigurationError({
    option: 'source',
    problem: `begins with ${prefix}, which belongs to the alerts of another source`,
    fix: 'It can be read, resent and tested; channels are set up by the option alerts of that source, contacts by its endpoints.put.',
  });
}
