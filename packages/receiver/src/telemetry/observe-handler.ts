import { parseTraceparent, readHeader, traceparentHeader, type HeaderBag } from '@bestnotify/protocol';
import {
  context,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Link,
  type Span,
  type Tracer,
  type TracerProvider,
} from '@opentelemetry/api';
import type { Handler, Notification } from '../notification.js';
import { isIgnore, isRetryLater } from '../outcomes.js';

const scope = '@bestnotify/receiver';

/** How a handler's run ended. */
export type RunOutcome = 'done' | 'ignored' | 'later' | 'failed';

/** Told of each run that ended, with what it was and how long it took. */
export type RunListener = (outcome: RunOutcome, durationMs: number) => void;

/** The handler as traces and meters see it: itself, unless somebody looks. */
export function observeHandler(handler: Handler, headers: HeaderBag, listeners: readonly RunListener[]): Handler {
  const tracer = activeTracer();
  const traced = tracer === undefined ? handler : traceHandler(tracer, handler, headers);
  return listeners.length === 0 ? traced : timeHandler(traced, listeners);
}

/** The API's own provider, which stands in for the host's and has none to ask until that is registered. */
interface MaybeProxy {
  getDelegateTracer?(name: string, version?: string): Tracer | undefined;
}

/** Undefined while nobody has registered a tracer provider. */
function activeTracer(): Tracer | undefined {
  const provider: TracerProvider & MaybeProxy = trace.getTracerProvider();
  return provider.getDelegateTracer === undefined ? provider.getTracer(scope) : provider.getDelegateTracer(scope);
}

/** Runs the handler in a consumer span that goes on from the platform's attempt. */
function traceHandler(tracer: Tracer, handler: Handler, headers: HeaderBag): Handler {
  return async (notification, handlerContext) => {
    const { parent, links } = originOf(headers);
    const attributes = { ...attributesOf(notification), 'bestnotify.run': handlerContext.attempt };
    const span = tracer.startSpan(
      `process ${notification.type}`,
      { kind: SpanKind.CONSUMER, attributes, links },
      parent,
    );
    try {
      await context.with(trace.setSpan(parent, span), async () => {
        await handler(notification, handlerContext);
      });
    } catch (error) {
      describeFailure(span, error);
      throw error;
    } finally {
      span.end();
    }
  };
}

/**
 * A span of the HTTP server that has taken the trace up already is the nearer parent. One that has not belongs to another
 * trace, and is linked.
 */
function originOf(headers: HeaderBag): { parent: Context; links: Link[] } {
  const active = context.active();
  const sent = parseTraceparent(readHeader(headers, traceparentHeader));
  const current = trace.getSpanContext(active);
  if (sent === undefined || sent.traceId === current?.traceId) return { parent: active, links: [] };
  const { traceId, spanId, flags } = sent;
  const parent = trace.setSpanContext(active, { traceId, spanId, traceFlags: flags, isRemote: true });
  return { parent, links: current === undefined ? [] : [{ context: current }] };
}

function attributesOf({ id, source, to, type, bizId }: Notification) {
  return {
    'messaging.system': 'bestnotify',
    'messaging.operation.type': 'process',
    'messaging.destination.name': to,
    'messaging.message.id': id,
    'bestnotify.source': source,
    'bestnotify.type': type,
    'bestnotify.biz_id': bizId,
  };
}

function describeFailure(span: Span, error: unknown): void {
  if (isIgnore(error)) return;
  const because = isRetryLater(error) ? 'retry-later' : error instanceof Error ? error.name : 'error';
  // The name alone: messages of database layers hold the parameters of statements.
  span.setAttribute('error.type', because);
  span.setStatus({ code: SpanStatusCode.ERROR, message: because });
}

function timeHandler(handler: Handler, listeners: readonly RunListener[]): Handler {
  return async (notification, handlerContext) => {
    const startedAtMs = performance.now();
    let outcome: RunOutcome = 'done';
    try {
      await handler(notification, handlerContext);
    } catch (error) {
      outcome = isIgnore(error) ? 'ignored' : isRetryLater(error) ? 'later' : 'failed';
      throw error;
    } finally {
      for (const listener of listeners) listener(outcome, performance.now() - startedAtMs);
    }
  };
}
