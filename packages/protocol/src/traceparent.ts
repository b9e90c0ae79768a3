/** The header of W3C Trace Context. Not signed: it says where a trace goes on, and nothing may depend on it. */
export const traceparentHeader = 'traceparent';

/** A span that others go on from. */
export interface TraceParent {
  /** 32 hex digits. */
  traceId: string;
  /** 16 hex digits. */
  spanId: string;
  /** Bit 0: the trace is recorded. */
  flags: number;
}

const grammar = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-[\x20-\x7e]*)?$/;
const maxLength = 256;

/** Reads a `traceparent`; undefined for anything that is none, as the specification asks: it came from outside. */
export function parseTraceparent(text: string | null | undefined): TraceParent | undefined {
  if (text == null || text.length > maxLength) return undefined;
  const [, version, traceId, spanId, flags, rest] = grammar.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  // Later versions may have more behind the flags; this one has not.
  return version === '00' && rest !== undefined ? undefined : { traceId, spanId, flags: parseInt(flags, 16) };
}

/** The text of version 00. */
export function formatTraceparent({ traceId, spanId, flags }: TraceParent): string {
  return `00-${traceId}-${spanId}-${(flags & 0xff).toString(16).padStart(2, '0')}`;
}
