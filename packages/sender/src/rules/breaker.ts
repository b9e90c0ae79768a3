/** Failures in a row after which an endpoint is parked. */
export const parkAfterFailures = 10;
/** The first park; each failed probe doubles it. */
export const firstParkMs = 30_000;
export const longestParkMs = 30 * 60_000;
/** Replies of 410 Gone in a row, from the endpoint's own URL, after which it is held. */
export const holdAfterGone = 2;

/** What one attempt says about its endpoint. */
export interface HealthFact {
  endpointKey: string;
  /** The notification's number in the outbox. */
  number: string;
  /** `failure` counts towards parking; `good` is any other reply, and clears the count; `none` says nothing. */
  kind: 'failure' | 'good' | 'none';
  isGone: boolean;
  isProbe: boolean;
  /** The endpoint asked for this rest, in ms; 0 if it did not. */
  restMs: number;
  /** A probe that was sent to another host: the endpoint is still to be probed. */
  isStrayProbe: boolean;
}

/** Several facts about one endpoint, in the order in which they happened. */
export interface HealthReport {
  endpointKey: string;
  /** A good reply was among them. */
  hasGood: boolean;
  /** Failures since the last good reply, or all of them. */
  failures: number;
  lastFailed: string | null;
  /** A reply other than 410 was among them. */
  hasStay: boolean;
  /** Replies of 410 since the last other reply. */
  gone: number;
  hasFailedProbe: boolean;
  hasStrayProbe: boolean;
  restMs: number;
}

/** Sums facts up, one report per endpoint. Facts that say nothing give no report, but for a probe that went astray. */
export function sumUpHealth(facts: readonly HealthFact[]): HealthReport[] {
  const reports = new Map<string, HealthReport>();
  for (const fact of facts) {
    if (fact.kind === 'none' && !fact.isStrayProbe) continue;
    const report = reports.get(fact.endpointKey) ?? emptyReport(fact.endpointKey);
    reports.set(fact.endpointKey, add(report, fact));
  }
  return [...reports.values()];
}

function add(report: HealthReport, fact: HealthFact): HealthReport {
  if (fact.kind === 'none') return { ...report, hasStrayProbe: true };
  const isFailure = fact.kind === 'failure';
  return {
    ...report,
    hasGood: report.hasGood || !isFailure,
    failures: isFailure ? report.failures + 1 : 0,
    lastFailed: isFailure ? fact.number : report.lastFailed,
    hasStay: report.hasStay || (!isFailure && !fact.isGone),
    gone: fact.isGone ? report.gone + 1 : isFailure ? report.gone : 0,
    hasFailedProbe: report.hasFailedProbe || (isFailure && fact.isProbe),
    restMs: Math.max(report.restMs, fact.restMs),
  };
}

function emptyReport(endpointKey: string): HealthReport {
  return {
    endpointKey,
    hasGood: false,
    failures: 0,
    lastFailed: null,
    hasStay: false,
    gone: 0,
    hasFailedProbe: false,
    hasStrayProbe: false,
    restMs: 0,
  };
}
