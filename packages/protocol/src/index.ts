export { acknowledgement, isAcknowledged, type AckRule, type GivenReply } from './acknowledge.js';
export {
  decodeEnvelope,
  encodeEnvelope,
  maxBodyBytes,
  payloadDigest,
  type DecodeOptions,
  type Envelope,
} from './envelope.js';
export { checkEnvelopeMember, type EnvelopeMember } from './envelope-members.js';
export {
  BytesError,
  EnvelopeError,
  isProtocolError,
  ProtocolError,
  SecretError,
  SignatureError,
  type SignatureRefusal,
} from './errors.js';
export { headerNames, readHeader, type HeaderBag } from './headers.js';
export { maxDepth } from './json.js';
export { errorFacts, type ErrorFacts, type Logger } from './logger.js';
export { nearMissHint } from './near-miss.js';
export {
  formatNotificationId,
  newNotificationId,
  notificationIdPattern,
  notificationTimeMs,
} from './notification-id.js';
export { removeSecrets } from './remove-secrets.js';
export { replies, type Reply, type ReplyReason } from './replies.js';
export { parseRetryAfter } from './retry-after.js';
export {
  generateKeyPair,
  generateSecret,
  keyBytes,
  maskSecret,
  parseSigningKey,
  parseVerifyingKey,
  type SigningKey,
  type VerifyingKey,
} from './secret.js';
export { maxSignatures, signBody, signNotification } from './sign.js';
export { parseTimestamp, systemClock, toleranceSeconds, toTimestampSeconds, type Clock } from './time.js';
export { formatTraceparent, parseTraceparent, traceparentHeader, type TraceParent } from './traceparent.js';
export { verifyBody, verifyNotification, type VerifiedNotification } from './verify.js';
