import { encodeEnvelope, newNotificationId } from '@bestnotify/protocol';
import type { EncodedNotification } from '../enqueue/enqueue.js';
import { alertType, type Alert } from './alert.js';
import type { Digest } from './read-digests.js';
import { alertSourceOf } from './reserved-source.js';

/** Endpoints that an alert carries. */
const maxEntries = 20;

/** What a digest has to tell, and for how long it then gathers again. */
export function alertOf(source: string, { kind, pending }: Digest, gatheredForMs: number): Alert {
  const { count = 0, endpoints = 0, sinceMs = 0, entries = [] } = pending ?? {};
  return {
    ...{ kind, source, count, endpoints, since: isoOf(sinceMs) },
    entries: entries.slice(0, maxEntries).map(({ atMs, ...entry }) => ({ ...entry, since: isoOf(atMs) })),
    gatheredForMs,
  };
}

/** An alert's notification for one channel. Its receiver is told the platform's own source, and its own name. */
export function notificationOf(
  alert: Alert,
  channel: { endpoint: string; to: string; policy: string },
  { nowMs, random }: { nowMs: number; random?: (size: number) => Buffer },
): EncodedNotification {
  const id = newNotificationId(nowMs, random);
  const bizId = id.replace('ntf_', 'alert_');
  const { source, kind } = alert;
  return {
    uuid: id.slice('ntf_'.length),
    source: alertSourceOf(source),
    endpoint: channel.endpoint,
    type: alertType,
    bizId,
    subject: kind,
    url: null,
    lane: 0,
    policy: channel.policy,
    maxAttempts: null,
    contentType: 'application/json',
    body: encodeEnvelope({ source, to: channel.to, type: alertType, bizId, subject: kind, data: alert }),
  };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
