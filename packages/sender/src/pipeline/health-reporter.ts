import type { Hooks } from '../hooks.js';
import type { Queryable } from '../outbox/database.js';
import { reportHealth, type HealthChange } from '../outbox/report-health.js';
import { sumUpHealth, type HealthFact } from '../rules/breaker.js';

const flushAfterMs = 20;

/**
 * Collects what attempts say about their endpoints and writes it down for all workers.
 *
 * Good news is only written about an endpoint with failures on its record: an endpoint that is well costs nothing.
 */
export class HealthReporter {
  readonly #parts: { database: Queryable; schema: string; hooks: Hooks };
  #facts: HealthFact[] = [];
  readonly #troubled = new Set<string>();
  #running: Promise<void> | undefined;

  constructor(parts: { database: Queryable; schema: string; hooks: Hooks }) {
    this.#parts = parts;
  }

  /** @param isTroubled - what the claim knew of the endpoint. */
  add(fact: HealthFact, isTroubled: boolean): void {
    const isBad = fact.kind === 'failure' || fact.isGone || fact.restMs > 0 || fact.isStrayProbe;
    if (isBad) this.#troubled.add(fact.endpointKey);
    if (!isBad && !isTroubled && !this.#troubled.has(fact.endpointKey)) return;
    this.#facts.push(fact);
    this.#running ??= this.#run();
  }

  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #run(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, flushAfterMs));
    const reports = sumUpHealth(this.#facts);
    this.#facts = [];
    this.#troubled.clear();
    try {
      const { database, schema } = this.#parts;
      for (const change of await reportHealth(database, schema, reports)) this.#tell(change);
    } catch (error) {
      // Only a count is lost: a breaker that trips one failure later is better than a batch that is sent twice.
      this.#parts.hooks.emit('error', { during: 'reporting health', error });
    }
    this.#running = undefined;
    if (this.#facts.length > 0) this.#running = this.#run();
  }

  #tell({ kind, source, endpoint, forMs, failures }: HealthChange): void {
    const { hooks } = this.#parts;
    switch (kind) {
      case 'parked':
        hooks.emit('endpointParked', { source, endpoint, forMs, failures });
        return;
      case 'unparked':
        hooks.emit('endpointUnparked', { source, endpoint });
        return;
      case 'disabled':
        hooks.emit('endpointDisabled', { source, endpoint });
        return;
      default:
        kind satisfies never;
    }
  }
}
