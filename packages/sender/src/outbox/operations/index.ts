import { cancel, close, holdEndpoint, resend, resumeEndpoint, sendNow, type ResendOptions } from './actions.js';
import type { NotifyContext } from '../../enqueue/notify.js';
import { createActivity, type ActivityMinute, type ActivityOptions } from './activity.js';
import { auditTrail, type AuditEntry, type AuditFilter } from './audit-trail.js';
import { bulkRuns, stopBulkRun, type BulkRun } from './bulk-runs.js';
import type { Action, OperationContext } from './context.js';
import { endpointHealth, type EndpointHealth, type HealthFilter } from './endpoint-health.js';
import type { NotificationFilter } from './filter.js';
import { list, type ListFilter } from './list.js';
import { resendMany, type BulkProgress, type ResendManyOptions } from './resend-many.js';
import { erase, prune, type Pruned, type PruneOptions } from './retention.js';
import { resealSecrets } from './reseal-secrets.js';
import { rotateSecret, type Rotated, type RotateOptions } from './rotate-secret.js';
import { show, type NotificationDetails, type NotificationSummary } from './queries.js';
import { stats, type Stats, type StatsOptions } from './stats.js';
import { testSend } from './test-send.js';

/** What an operator may ask and do. Every change is conditional on the row's current state, and audited. */
export interface Operations {
  list(filter?: ListFilter): Promise<{ items: NotificationSummary[]; next: string | null }>;
  /** @param options.endpoints - only if it belongs to one of these; else it does not exist. */
  show(id: string, options?: { endpoints?: readonly string[] }): Promise<NotificationDetails>;
  stats(options?: StatsOptions): Promise<Stats>;
  /** Attempts per minute, oldest first. */
  activity(options?: ActivityOptions): Promise<ActivityMinute[]>;
  /** Endpoints with how they are doing. `next` is null on the last page. */
  endpointHealth(filter?: HealthFilter): Promise<{ items: EndpointHealth[]; next: string | null }>;
  sendNow(id: string, options?: Action): Promise<void>;
  resend(id: string, options?: ResendOptions): Promise<void>;
  /** Resends all settled notifications that match, paced; an interrupted run can be resumed. */
  resendMany(filter: NotificationFilter, options?: ResendManyOptions): Promise<BulkProgress>;
  /** Bulk resends that are under way or were interrupted, newest first, at most 50. */
  bulkRuns(options?: Pick<Action, 'endpoints'>): Promise<BulkRun[]>;
  /** Ends an unfinished bulk resend; what it has not resent stays as it is. */
  stopBulkRun(run: string, options?: Action): Promise<void>;
  cancel(id: string, options?: Action): Promise<void>;
  close(id: string, options: Action & { note: string }): Promise<void>;
  holdEndpoint(endpoint: string, options?: Action): Promise<void>;
  resumeEndpoint(endpoint: string, options?: Action): Promise<void>;
  /** Gives an endpoint a new secret beside the old ones, which retire after an overlap. */
  rotateSecret(endpoint: string, options?: RotateOptions): Promise<Rotated>;
  /** Seals every stored secret with the first key of `secretStorage.keys`; returns how many it sealed anew. */
  resealSecrets(options?: Action): Promise<number>;
  /** Sends a notification of type `bestnotify.test` to one endpoint, tried once; returns its id. */
  testSend(endpoint: string, options?: Action): Promise<string>;
  /** Removes what is older than it has to be kept; never what is pending. */
  prune(options?: PruneOptions): Promise<Pruned>;
  /** Removes the body and the stored replies of one settled notification for good. */
  erase(id: string, options?: Action): Promise<void>;
  /** Who did what, newest first. */
  audit(filter?: AuditFilter): Promise<{ items: AuditEntry[]; next: string | null }>;
}

export function createOperations(context: OperationContext, endpoints: NotifyContext): Operations {
  const activity = createActivity();
  return {
    list: (filter) => list(context, filter),
    show: (id, options) => show(context, id, options),
    stats: (options) => stats(context, options),
    activity: (options) => activity(context, options),
    endpointHealth: (filter) => endpointHealth(endpoints, filter),
    sendNow: (id, options) => sendNow(context, id, options),
    resend: (id, options) => resend(context, id, options),
    cancel: (id, options) => cancel(context, id, options),
    close: (id, options) => close(context, id, options),
    holdEndpoint: (endpoint, options) => holdEndpoint(context, endpoint, options),
    resumeEndpoint: (endpoint, options) => resumeEndpoint(context, endpoint, options),
    bulkRuns: (options) => bulkRuns(context, options),
    stopBulkRun: (run, options) => stopBulkRun(context, run, options),
    resendMany: (filter, options) => resendMany(context, filter, options),
    rotateSecret: (endpoint, options) => rotateSecret({ ...context, endpoints }, endpoint, options),
    resealSecrets: (options) => resealSecrets({ ...context, endpoints }, options),
    testSend: (endpoint, options) => testSend({ ...context, endpoints }, endpoint, options),
    prune: (options) => prune(context, options),
    erase: (id, options) => erase(context, id, options),
    audit: (filter) => auditTrail(context, filter),
  };
}
