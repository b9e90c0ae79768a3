import { context, propagation, trace } from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
  type ReadableSpan,
  type Sampler,
} from '@opentelemetry/sdk-trace-node';

/** The OpenTelemetry SDK of this process, with what it has exported. */
export interface Spans extends Disposable {
  /** Those that have ended, in the order of their ends. */
  all(): ReadableSpan[];
  /** The one of this name; fails if there is another number of them. */
  one(name: string): ReadableSpan;
}

/** Registers a tracer provider, as a host does before it starts. */
export function recordSpans({ sampler }: { sampler?: Sampler } = {}): Spans {
  const exporter = new InMemorySpanExporter();
  const provider = new NodeTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler !== undefined && { sampler }),
  });
  provider.register();
  return {
    all: () => exporter.getFinishedSpans(),
    one(name) {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name);
      if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} spans are called ${name}.`);
      return found[0];
    },
    [Symbol.dispose]() {
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
}
