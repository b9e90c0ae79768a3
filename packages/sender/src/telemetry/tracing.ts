import { formatTraceparent, parseTraceparent } from '@bestnotify/protocol';
import {
  context,
  createContextKey,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import type { AttemptResult } from '../pipeline/attempt-notification.js';
import type { EncodedNotification } from '../enqueue/enqueue.js';
import { version } from '../version.js';
import type { ClaimedNotification } from '../worker/claim-batch.js';

const scope = '@bestnotify/sender';

/** The API's own provider, which stands in for the host's and has none to ask until that is registered. */
interface MaybeProxy {
  getDelegateTracer?(name: string, version?: string): Tracer | undefined;
}

/** Undefined while nobody has registered a tracer provider: traces then cost this look-up. */
export function activeTracer(): Tracer | undefined {
  const provider: TracerProvider & MaybeProxy = trace.getTracerProvider();
  return provider.getDelegateTracer === undefined
    ? provider.getTracer(scope, version)
    : provider.getDelegateTracer(scope, version);
}

/**
 * Runs `work`, which enqueues, in a producer span for each notification; where the attempts go on from is left in its
 * `traceparent`.
 */
export async function traceEnqueue<Result extends { created: boolean }>(
  notifications: readonly EncodedNotification[],
  work: () => Promise<Result[]>,
): Promise<Result[]> {
  const tracer = activeTracer();
  if (tracer === undefined) return work();
  const spans = notifications.map((notification) => {
    const { type, uuid, endpoint, bizId } = notification;
    const span = tracer.startSpan(`enqueue ${type}`, {
      kind: SpanKind.PRODUCER,
      attributes: attributesOf('create', { id: `ntf_${uuid}`, endpoint, type, bizId }),
    });
    const traceparent = traceparentOf(span);
    if (traceparent !== null) notification.traceparent = traceparent;
    return span;
  });
  const [only, ...others] = spans;
  const inside = only === undefined || others.length > 0 ? context.active() : trace.setSpan(context.active(), only);
  try {
    const results = await context.with(inside, work);
    for (const [place, { created }] of results.entries()) spans[place]?.setAttribute('bestnotify.created', created);
    return results;
  } catch (error) {
    for (const span of spans) fail(span, error instanceof Error ? error.name : 'error');
    throw error;
  } finally {
    for (const span of spans) span.end();
  }
}

/**
 * Runs one attempt in a client span that goes on from the enqueueing.
 *
 * @param send - makes the attempt; what it is given is where the merchant's side goes on from.
 */
export async function traceAttempt(
  tracer: Tracer,
  notification: ClaimedNotification,
  send: (traceparent: string | null) => Promise<AttemptResult>,
): Promise<AttemptResult> {
  const { id, to, type, bizId, attempts } = notification;
  const attributes = {
    ...attributesOf('send', { id, endpoint: to, type, bizId }),
    'http.request.method': 'POST',
    'bestnotify.attempt': attempts + 1,
  };
  const parent = parentContext(notification.traceparent);
  const span = tracer.startSpan(`deliver ${type}`, { kind: SpanKind.CLIENT, attributes }, parent);
  try {
    const result = await context.with(withoutOthers(trace.setSpan(parent, span)), () => send(traceparentOf(span)));
    describeEnd(span, result);
    return result;
  } catch (error) {
    fail(span, error instanceof Error ? error.name : 'error');
    throw error;
  } finally {
    span.end();
  }
}

function describeEnd(span: Span, { settlement }: AttemptResult): void {
  const { attempt } = settlement;
  if (attempt === null) return;
  const { outcome, because, status, url } = attempt;
  span.setAttributes({
    'bestnotify.outcome': outcome,
    'bestnotify.because': because,
    'url.full': url,
    ...(URL.canParse(url) && { 'server.address': new URL(url).hostname }),
    ...(status !== null && { 'http.response.status_code': status }),
  });
  if (outcome !== 'acknowledged') fail(span, because);
}

function attributesOf(
  operation: 'create' | 'send',
  { id, endpoint, type, bizId }: { id: string; endpoint: string; type: string; bizId: string },
) {
  return {
    'messaging.system': 'bestnotify',
    'messaging.operation.type': operation,
    'messaging.destination.name': endpoint,
    'messaging.message.id': id,
    'bestnotify.type': type,
    'bestnotify.biz_id': bizId,
  };
}

function fail(span: Span, because: string): void {
  span.setAttribute('error.type', because);
  span.setStatus({ code: SpanStatusCode.ERROR, message: because });
}

function traceparentOf(span: Span): string | null {
  const { traceId, spanId, traceFlags } = span.spanContext();
  const text = formatTraceparent({ traceId, spanId, flags: traceFlags });
  return parseTraceparent(text) === undefined ? null : text;
}

/** Not the active context: a worker runs in whatever context it was once started. */
function parentContext(traceparent: string | null): Context {
  const parent = parseTraceparent(traceparent);
  if (parent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = parent;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true });
}

/**
 * Instrumentation of undici would make a second span of the same request, and send `traceparent` to endpoints that have
 * not asked for it. This is the SDK's own mark that it heeds.
 */
function withoutOthers(of: Context): Context {
  return of.setValue(createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING'), true);
}
