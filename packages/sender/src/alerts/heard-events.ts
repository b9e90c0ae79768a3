import type { Hooks, SenderEvents } from '../hooks.js';
import type { AlertEvent } from './digest.js';

/** Endpoints of which a process remembers what it heard between two looks. */
const maxRemembered = 1_000;

/**
 * What only the events of this process say: refusals, lost claims, our own outage. It is kept until it is in a digest; a
 * process that dies before that has lost a count, and the next attempt of the same notification says the same.
 */
export class HeardEvents {
  #events = new Map<string, AlertEvent>();
  readonly #nowMs: () => number;

  /** @param onNews - called for whatever an alert may come of, also for what is read from the tables. */
  constructor(hooks: Hooks, parts: { source: string; nowMs: () => number; onNews: () => void }) {
    const { source, onNews } = parts;
    this.#nowMs = parts.nowMs;
    const isOurs = (event: { source: string }) => event.source === source;
    hooks.on('dead', (event) => isOurs(event) && onNews());
    hooks.on('endpointParked', (event) => isOurs(event) && onNews());
    hooks.on('endpointDisabled', (event) => isOurs(event) && onNews());
    hooks.on('refused', (event) => {
      if (isOurs(event)) this.#add({ ...factsOf(event), kind: 'refused', reason: event.because }, onNews);
    });
    hooks.on('claimsLost', (event) => {
      if (isOurs(event)) this.#add({ ...factsOf(event), kind: 'claims-lost', reason: 'lost-claims' }, onNews);
    });
    hooks.on('suspended', ({ endpoints }) => {
      this.#add({ kind: 'suspended', endpoint: null, count: endpoints, reason: 'unreachable' }, onNews);
    });
  }

  get isEmpty(): boolean {
    return this.#events.size === 0;
  }

  take(): AlertEvent[] {
    const events = [...this.#events.values()];
    this.#events = new Map();
    return events;
  }

  /** They could not be written down: they are as good as just heard. */
  putBack(events: readonly AlertEvent[]): void {
    const heardSince = this.take();
    for (const event of [...events, ...heardSince]) this.#merge(event);
  }

  #add(event: Omit<AlertEvent, 'atMs'>, onNews: () => void): void {
    this.#merge({ ...event, atMs: this.#nowMs() });
    onNews();
  }

  #merge(event: AlertEvent): void {
    const key = `${event.kind} ${event.endpoint ?? ''}`;
    const known = this.#events.get(key);
    if (known !== undefined) known.count += event.count;
    else if (this.#events.size < maxRemembered) this.#events.set(key, { ...event });
  }
}

function factsOf({ endpoint, id, type, bizId }: SenderEvents['refused'] | SenderEvents['claimsLost']) {
  return { endpoint, count: 1, notification: { id, type, bizId } };
}
