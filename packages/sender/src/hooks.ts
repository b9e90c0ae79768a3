/** Which notification an event is about. Never its body, its URL's query or a secret. */
export interface NotificationFacts {
  id: string;
  source: string;
  endpoint: string;
  type: string;
  bizId: string;
  subject: string | null;
  round: number;
}

/** What the sender tells the host. Listeners are called after the fact is written down. */
export interface SenderEvents {
  /** One HTTP request was made, or could not even be made; `ordinal` is null if it was not charged. */
  attempt: NotificationFacts & {
    ordinal: number | null;
    outcome: string;
    status: number | null;
    because: string;
    hint: string | null;
    error: string | null;
    durationMs: number;
    /** Until the next one, in ms; null if there is none. */
    nextInMs: number | null;
  };
  /** The merchant acknowledged; `reason` is `handled`, `duplicate`, `stale`, `ignored` or `acknowledged`. */
  delivered: NotificationFacts & {
    reason: string;
    attempts: number;
    /** Since it was enqueued, by the clock of the process that did it, in ms. */
    sinceEnqueuedMs: number;
  };
  /** Given up: a person has to look. */
  dead: NotificationFacts & { reason: string; attempts: number };
  /** The worker was too slow, or another one was presumed dead: its result was not written. The row is sent again. */
  claimLost: NotificationFacts;
  /** A notification lost its claim 20 times in a row or more: something kills the workers that take it. */
  claimsLost: NotificationFacts & { lostClaims: number };
  /** The merchant's receiver refused in a way that points to a wrong key, clock or set-up. */
  refused: NotificationFacts & { because: string; hint: string | null };
  /** An endpoint failed too often in a row: nothing but one probe at a time is sent to it for `forMs`. */
  endpointParked: { source: string; endpoint: string; forMs: number; failures: number };
  /** A parked endpoint answered again. */
  endpointUnparked: { source: string; endpoint: string };
  /** An endpoint said 410 Gone twice in a row and is held until somebody resumes it. */
  endpointDisabled: { source: string; endpoint: string };
  /** Most endpoints could not be reached at once, so the fault is here: this worker rests, charges nothing and parks nobody. */
  suspended: { forMs: number; endpoints: number };
  /** Endpoints can be reached again. */
  resumed: Record<string, never>;
  /** Retention removed something; the numbers grow over one pruning. */
  pruned: { notifications: number; attempts: number; keys: number };
  /** Something of ours failed; the worker goes on. `during` names the step. */
  error: { during: string; error: unknown };
}

export type EventName = keyof SenderEvents;
export type Listener<Name extends EventName> = (event: SenderEvents[Name]) => void;

/** A typed emitter whose listeners cannot hurt a delivery. */
export interface Hooks {
  on<Name extends EventName>(name: Name, listener: Listener<Name>): void;
  off<Name extends EventName>(name: Name, listener: Listener<Name>): void;
  emit<Name extends EventName>(name: Name, event: SenderEvents[Name]): void;
  /** Whether anybody listens: an event nobody hears need not be made. */
  hears(name: EventName): boolean;
}

type AnyListener = (event: unknown) => unknown;

export function createHooks(): Hooks {
  // Not an EventEmitter: that throws for an `error` nobody listens to, and stops at the first listener that throws.
  // The lists are replaced, never changed: one that is being called stays as it is.
  const listeners = new Map<EventName, readonly AnyListener[]>();
  const emit = <Name extends EventName>(name: Name, event: SenderEvents[Name]) => {
    for (const listener of listeners.get(name) ?? []) {
      try {
        const result = listener(event);
        // Nobody waits for an async listener, so nobody else would catch what it throws: that ends the process.
        if (result instanceof Promise) {
          result.catch((error: unknown) => {
            complain(name, error);
          });
        }
      } catch (error) {
        complain(name, error);
      }
    }
  };
  const complain = (name: EventName, error: unknown) => {
    if (name === 'error') process.emitWarning(error instanceof Error ? error : String(error));
    else emit('error', { during: `listener of ${name}`, error });
  };
  return {
    on: (name, listener) => void listeners.set(name, [...(listeners.get(name) ?? []), listener as AnyListener]),
    off: (name, listener) => {
      const known = listeners.get(name) ?? [];
      const last = known.lastIndexOf(listener as AnyListener); // one call takes away what one call added
      if (last >= 0) listeners.set(name, known.toSpliced(last, 1));
    },
    emit,
    hears: (name) => (listeners.get(name)?.length ?? 0) > 0,
  };
}
