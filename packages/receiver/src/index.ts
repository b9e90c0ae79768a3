export { captureRawBody } from './adapters/express.js';
export {
  AlreadyRecordedError,
  ConfigurationError,
  HandlerTimeoutError,
  InboxRowMissingError,
  InboxUnavailableError,
  isReceiverError,
  LeaseLostError,
  NoHandlerError,
  NotIdentifiedError,
  RawBodyMissingError,
  ReceiverError,
  StoreFullError,
  StoreTimeoutError,
} from './errors.js';
export type { InvalidFacts, ReceiverHooks, ReceiverStats } from './hooks.js';
export type { Identified, Identify } from './identify.js';
export type {
  BodyLimits,
  BodyProblem,
  BodyProblemReport,
  BodySource,
  GivenBody,
  Handler,
  HandlerContext,
  IncomingNotification,
  Notification,
  ReceiverReply,
} from './notification.js';
export { receiverDefaults, type ReceiverOptions, type ReceiverParts } from './options.js';
export { Ignore, RetryLater } from './outcomes.js';
export type { Logger } from '@bestnotify/protocol';
export { createReceiver, type Receiver } from './receiver.js';
export type { Secret, SecretList, Secrets } from './secrets.js';
export type { ReplyFacts, ReplyFormat } from './steps/reply.js';
export { memoryStore, memoryStoreDefaults, type MemoryStoreOptions, type MemoryStoreParts } from './stores/memory.js';
export { postgresInbox, type PostgresInbox, type PostgresInboxOptions } from './stores/postgres-inbox.js';
export { redisStore, redisStoreDefaults, type RedisClient, type RedisStoreOptions } from './stores/redis.js';
export type {
  Acquired,
  ClaimRequest,
  Completed,
  CompleteOptions,
  InboxTransaction,
  NotificationKey,
  Order,
  RecordedIn,
  Store,
} from './stores/store.js';
export type { Warn, Warning } from './warn.js';
