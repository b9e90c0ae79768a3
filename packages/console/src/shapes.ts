// What the API gives and takes, as JSON: moments are ISO texts, ids are strings, bytes are base64. The page imports these types.

export type State = 'pending' | 'delivered' | 'dead' | 'cancelled' | 'closed';

export interface SessionShape {
  actor: string;
  role: 'viewer' | 'reader' | 'operator';
  source: string;
  /** Null means all. */
  endpoints: readonly string[] | null;
  csrfToken: string;
}

export interface MinuteShape {
  at: string;
  delivered: number;
  failed: number;
  p50Ms: number | null;
  p95Ms: number | null;
  p99Ms: number | null;
  isCapped: boolean;
}

export interface OverviewShape {
  stats: {
    due: number;
    inFlight: number;
    dead: number;
    diedSince: number;
    heldEndpoints: number;
    parkedEndpoints: number;
    oldestDueMs: number;
  };
  minutes: MinuteShape[];
}

export interface SummaryShape {
  id: string;
  source: string;
  endpoint: string;
  type: string;
  bizId: string;
  subject: string | null;
  state: State;
  reason: string | null;
  isClaimed: boolean;
  round: number;
  attempts: number;
  lostClaims: number;
  dueAt: string;
  createdAt: string;
  settledAt: string | null;
}

export interface PageShape<Item> {
  items: Item[];
  next: string | null;
}

export interface AttemptShape {
  round: number;
  ordinal: number | null;
  startedAt: string;
  durationMs: number;
  outcome: string;
  status: number | null;
  because: string;
  hint: string | null;
  error: string | null;
  /** The beginning of the reply; null where the role does not show it. */
  snippetBase64: string | null;
  url: string;
}

export interface DetailsShape extends SummaryShape {
  /** Origin and path. */
  url: string | null;
  /** True if the URL is the notification's own, not the endpoint's. */
  isOwnUrl: boolean;
  policy: string | null;
  maxAttempts: number | null;
  contentType: string;
  /** Null once erased, or where the role does not show bodies. */
  bodyBase64: string | null;
  bodyBytes: number | null;
  isErased: boolean;
  /** A shell script that sends it by hand, without a secret; null where bodies are not shown. */
  curl: string | null;
  attemptLog: AttemptShape[];
}

export interface EndpointShape {
  id: string;
  url: string | null;
  ack: string;
  profile: string;
  policy: string | null;
  maxAttempts: number | null;
  maxInFlight: number | null;
  maxInFlightEverywhere: number | null;
  maxPerSecond: number | null;
  owner: string | null;
  heldBecause: string | null;
  parkedForMs: number | null;
  failures: number;
  secrets: readonly { id: string; fingerprint: string }[];
  inFlight: number;
  due: number;
  pending: number;
  attempts: number;
  acknowledged: number;
  p50Ms: number | null;
  p95Ms: number | null;
  lastAttemptAt: string | null;
}

export interface AuditShape {
  number: string;
  at: string;
  actor: string;
  action: string;
  endpoint: string | null;
  notification: string | null;
  note: string | null;
  details: string | null;
}

export interface ProgressShape {
  run: string | null;
  matched: number;
  resent: number;
  skipped: number;
  isFinished: boolean;
}

/** A bulk resend that is under way or was interrupted. */
export interface RunShape {
  run: string;
  actor: string;
  beganAt: string;
  perSecond: number;
  acceptDuplicateEffect: boolean;
  matched: number;
  resent: number;
  skipped: number;
  /** What it was asked for, less the chosen ids. */
  filter: {
    state?: State;
    endpoint?: string;
    type?: string;
    reason?: string;
    since?: string | undefined;
    until?: string | undefined;
  };
  /** How many were chosen one by one; null where a filter chose. */
  chosen: number | null;
}

export interface RotatedShape {
  id: string;
  /** Shown this once. */
  secret: string;
}

export interface RefusalShape {
  error: string;
  message: string;
  code?: string;
  state?: State;
  isClaimed?: boolean;
}
