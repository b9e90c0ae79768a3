/** What operators are told of. */
export const alertKinds = ['dead', 'parked', 'disabled', 'refused', 'overdue', 'suspended', 'claims-lost'] as const;

export type AlertKind = (typeof alertKinds)[number];

/** What has happened at one endpoint. */
export interface AlertEntry {
  /** Null where no single endpoint is meant. */
  endpoint: string | null;
  /** Notifications; failures in a row for `parked`; refusals for `refused`. */
  count: number;
  /** The first reason: `attempts-used-up`, `invalid-signature`, … */
  reason: string;
  /** What the last attempt of that first notification met: `status-503`, `no-answer`, … */
  lastAttempt?: string;
  /** When the first of them happened: ISO 8601 in UTC. */
  since: string;
  /** The first of them. */
  notification?: { id: string; type: string; bizId: string };
}

/** One alert: everything of one kind that has happened since the one before. It is the `data` of its notification. */
export interface Alert {
  kind: AlertKind;
  /** The platform that it is about. */
  source: string;
  /** The sum over all endpoints. */
  count: number;
  /** How many endpoints are concerned; `entries` names the first few. */
  endpoints: number;
  since: string;
  entries: readonly AlertEntry[];
  /** More of this kind is gathered for so long before it is told, in ms. */
  gatheredForMs: number;
}

/** The type of every alert's notification. */
export const alertType = 'bestnotify.alert';
