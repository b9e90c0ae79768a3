// The public surface, name by name: what is not here is internal.
export { generateSecret, type Logger } from '@bestnotify/protocol';
export { alertKinds, alertType, type Alert, type AlertEntry, type AlertKind } from './alerts/alert.js';
export type { AlertChannel, ContactChannel } from './alerts/alert-channel.js';
export type { AlertText } from './alerts/alert-words.js';
export { alertsDefaults, type AlertsOptions } from './alerts/alerts-options.js';
export { createSender, type Sender } from './create-sender.js';
export type { Enqueued } from './enqueue/enqueue.js';
export type { TransactionalClient } from './enqueue/host-transactions.js';
export type { RawBody } from './enqueue/limits.js';
export type { NotificationInput, NotifyOptions, TypeOptions } from './enqueue/notify.js';
export type { CallerTransaction } from './enqueue/transactions.js';
export {
  ConfigurationError,
  EndpointUrlError,
  isSenderError,
  SenderError,
  type SenderErrorCode,
  type UrlProblem,
} from './errors.js';
export type { EventName, Listener, NotificationFacts, SenderEvents } from './hooks.js';
export { workerDefaults, type WorkerOptions } from './options.js';
export type { Endpoint, EndpointInput } from './outbox/endpoints.js';
export {
  BodyTooLargeError,
  DatabaseLockedError,
  DatabaseTimeoutError,
  DuplicateEffectError,
  IllegalStateError,
  NotificationRefusedError,
  PayloadConflictError,
  SchemaMissingError,
  SchemaTooNewError,
  SecretInUseError,
  SecretMismatchError,
  SecretSealError,
  SenderClosedError,
  UnknownEndpointError,
  UnknownNotificationError,
} from './outbox/errors.js';
export type { MigrateOptions } from './outbox/migrate.js';
export type { DatabaseOption } from './outbox/open-database.js';
export { postgresDefaults, type PostgresOptions } from './outbox/open-postgres.js';
export type { WireSettings } from './outbox/endpoint-wire.js';
export type { SecretStorageOptions } from './outbox/vault.js';
export type { AuditEntry, AuditFilter } from './outbox/operations/audit-trail.js';
export type { NotificationFilter } from './outbox/operations/filter.js';
export type { BulkRun } from './outbox/operations/bulk-runs.js';
export type { BulkProgress, ResendManyOptions } from './outbox/operations/resend-many.js';
export { retentionDefaults, type Pruned, type PruneOptions, type Retention } from './outbox/operations/retention.js';
export type { Rotated, RotateOptions } from './outbox/operations/rotate-secret.js';
export type { Action } from './outbox/operations/context.js';
export type { ResendOptions } from './outbox/operations/actions.js';
export type { Operations } from './outbox/operations/index.js';
export type { ActivityMinute, ActivityOptions } from './outbox/operations/activity.js';
export type { EndpointHealth, HealthFilter } from './outbox/operations/endpoint-health.js';
export type { ListFilter } from './outbox/operations/list.js';
export type { AttemptSummary, NotificationDetails, NotificationSummary } from './outbox/operations/queries.js';
export type { Stats, StatsOptions } from './outbox/operations/stats.js';
export { testType } from './outbox/operations/test-send.js';
export { notificationStates, type NotificationState } from './outbox/states.js';
export {
  presetNames,
  type ExponentialRule,
  type GapsRule,
  type PolicyRule,
  type PresetName,
} from './rules/policies.js';
export { senderDefaults, type SenderOptions, type TypeRules } from './sender-options.js';
export type { PassSummary } from './pipeline/pipeline.js';
export type { Worker } from './worker.js';
export type { AckFunction } from './worker/judge-response.js';
