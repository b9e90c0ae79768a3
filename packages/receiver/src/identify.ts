import {
  checkEnvelopeMember,
  decodeEnvelope,
  headerNames,
  readHeader,
  type Envelope,
  type HeaderBag,
} from '@bestnotify/protocol';
import { NotIdentifiedError } from './errors.js';
import type { ResolvedOptions } from './options.js';

/** What a function of the merchant finds in a verified body of the platform's own form. */
export interface Identified {
  /** Whom it was made for. Required in profile `v1`; taken as ours in `body-hmac`, whose old bodies often do not say. */
  to?: string;
  type: string;
  /** The id of the event's own object: two refunds of one order need two. */
  bizId: string;
  subject?: string;
  sequence?: number;
  /** Handed to the handler as `data`. */
  data?: unknown;
}

/** Reads the body only after its signature was found genuine. Headers are hints: they are not signed. */
export type Identify = (body: Buffer, headers: HeaderBag) => Identified | Promise<Identified>;

/**
 * Says which event these verified bytes are.
 *
 * @throws {@link NotIdentifiedError}, or the protocol's `EnvelopeError`.
 */
export function identifyBody(body: Buffer, headers: HeaderBag, options: ResolvedOptions): Envelope | Promise<Envelope> {
  if (options.identify !== undefined) return identifyOwn(body, headers, options);
  if (options.profile === 'v1') return decodeEnvelope(body);
  return identifyLegacy(body, headers, options);
}

async function identifyOwn(body: Buffer, headers: HeaderBag, options: ResolvedOptions): Promise<Envelope> {
  let found: Identified | undefined;
  try {
    found = await options.identify?.(body, headers);
  } catch (cause) {
    throw new NotIdentifiedError({ problem: 'identify threw', cause });
  }
  if (typeof found !== 'object') throw new NotIdentifiedError({ problem: 'identify returned nothing' });
  const to = found.to ?? (options.profile === 'body-hmac' ? options.to : undefined);
  const { type, bizId, subject, sequence, data } = found;
  return checked({
    ...{ source: options.source, to: to as string, type, bizId },
    ...(subject === undefined ? {} : { subject }),
    ...(sequence === undefined ? {} : { sequence }),
    data,
  });
}

/** The old form: a JSON object that carries its own `notification_id` and `type`. */
function identifyLegacy(body: Buffer, headers: HeaderBag, options: ResolvedOptions): Envelope {
  let data: unknown;
  try {
    data = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch (cause) {
    throw new NotIdentifiedError({ problem: 'the body is not JSON; give an identify function', cause });
  }
  if (typeof data !== 'object' || data === null)
    throw new NotIdentifiedError({ problem: 'the body is not a JSON object' });
  const own = data as Record<string, unknown>;
  const type = (Object.hasOwn(own, 'type') ? own['type'] : readHeader(headers, headerNames.eventType)) as string;
  const bizId = (Object.hasOwn(own, 'notification_id') ? own['notification_id'] : undefined) as string;
  return checked({ source: options.source, to: options.to, type, bizId, data });
}

function checked(envelope: Envelope): Envelope {
  for (const member of ['to', 'type', 'bizId', 'subject', 'sequence'] as const) {
    if (envelope[member] === undefined && (member === 'subject' || member === 'sequence')) continue;
    try {
      checkEnvelopeMember(member, envelope[member]);
    } catch (cause) {
      throw new NotIdentifiedError({ problem: `${member} is missing or outside its grammar`, cause });
    }
  }
  return envelope;
}
