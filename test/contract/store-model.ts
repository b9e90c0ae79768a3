import { digestOf, requestFor, type StoreUnderTest } from './stores.ts';
import type { ClaimRequest } from '@bestnotify/receiver';

/** One step of a random history. Places in lists are taken modulo their length, so that every number means something. */
export type Step =
  | { kind: 'acquire'; event: number; payload: number }
  | { kind: 'acquire again'; run: number }
  | { kind: 'renew' | 'release' | 'complete' | 'crash'; run: number }
  | { kind: 'leases end' };

interface Run {
  request: ClaimRequest;
  event: number;
  crashed: boolean;
}

interface Event {
  digest: string | undefined;
  state: 'absent' | 'running' | 'free' | 'done';
  holder: ClaimRequest | undefined;
  isLeaseLive: boolean;
  attempts: number;
}

interface Guard {
  holder: ClaimRequest | undefined;
  isLeaseLive: boolean;
  newest: number;
}

/** The first two events are free of each other; the others are states of one subject under the ordering guard. */
const sequences = [undefined, undefined, 1, 2, 3] as const;

/** Plays one history on a model and on every store at once, and throws where they disagree or a promise is broken. */
export async function play(steps: readonly Step[], stores: readonly StoreUnderTest[], name: string): Promise<void> {
  const model = new Model(stores, name);
  for (const step of steps) await model.take(step);
  await model.checkNothingIsStuck();
  await model.forgetAll();
}

class Model {
  readonly #events: Event[] = sequences.map(() => ({
    digest: undefined,
    state: 'absent',
    holder: undefined,
    isLeaseLive: false,
    attempts: 0,
  }));
  readonly #guard: Guard = { holder: undefined, isLeaseLive: false, newest: -1 };
  readonly #runs: Run[] = [];
  readonly #started = new Map<number, Set<string>>();

  constructor(
    private readonly stores: readonly StoreUnderTest[],
    private readonly name: string,
  ) {}

  async take(step: Step): Promise<void> {
    if (step.kind === 'leases end') return this.#endLeases();
    if (step.kind === 'acquire') return this.#acquire(this.#newRun(step.event % sequences.length, step.payload % 2));
    const run = this.#runs[step.run % Math.max(1, this.#runs.length)];
    if (run === undefined || run.crashed) return;
    if (step.kind === 'acquire again') return this.#acquire(run);
    if (step.kind === 'crash') run.crashed = true;
    if (step.kind === 'renew') await this.#renew(run);
    if (step.kind === 'release') await this.#release(run);
    if (step.kind === 'complete') await this.#complete(run);
  }

  #newRun(event: number, payload: number): Run {
    const sequence = sequences[event];
    const request = requestFor({
      type: sequence === undefined ? 'payment.success' : 'order.status',
      bizId: `${this.name} ${event}`.replace(/ /g, '-'),
      digest: digestOf(`${event} ${payload}`),
      ...(sequence === undefined ? {} : { order: { subject: this.name, sequence } }),
    });
    const run = { request, event, crashed: false };
    this.#runs.push(run);
    return run;
  }

  async #acquire(run: Run): Promise<void> {
    const event = this.#events[run.event] as Event;
    const wasDone = event.state === 'done';
    const expected = this.#expect(run, event);
    const answers = await this.#all(({ store }) => store.acquire(run.request));
    for (const answer of answers) {
      if (answer.verdict !== expected) throw new Error(`expected ${expected}, got ${JSON.stringify(answers)}`);
      if (answer.verdict === 'acquired' && answer.attempt !== event.attempts) {
        throw new Error(`expected attempt ${event.attempts}, got ${JSON.stringify(answers)}`);
      }
    }
    if (expected !== 'acquired') return;
    if (wasDone) throw new Error('a handler started after done');
    const payloads = this.#started.get(run.event) ?? new Set();
    this.#started.set(run.event, payloads.add(run.request.digest));
    if (payloads.size > 1) throw new Error('two payloads ran under one id');
  }

  /** Decides as protocol.md §3 says, and writes it into the model. */
  #expect({ request }: Run, event: Event): string {
    if (event.digest !== undefined && event.digest !== request.digest) return 'conflict';
    if (event.state === 'done') return 'duplicate';
    const isMine = event.state === 'running' && event.holder?.token === request.token;
    if (event.state === 'running' && !isMine && event.isLeaseLive) return 'busy';
    if (request.order !== undefined) {
      const isGuardMine = this.#guard.holder?.token === request.token;
      if (this.#guard.newest > request.order.sequence) return 'stale';
      if (this.#guard.holder !== undefined && !isGuardMine && this.#guard.isLeaseLive) return 'busy';
      this.#guard.holder = request;
      this.#guard.isLeaseLive = true;
    }
    event.digest = request.digest;
    event.state = 'running';
    event.holder = request;
    event.isLeaseLive = true;
    if (!isMine) event.attempts += 1;
    return 'acquired';
  }

  async #renew({ request, event: place }: Run): Promise<void> {
    const event = this.#events[place] as Event;
    const holdsRecord = event.state === 'running' && event.holder?.token === request.token;
    const holdsGuard = request.order === undefined || this.#guard.holder?.token === request.token;
    if (holdsRecord && holdsGuard) {
      event.isLeaseLive = true;
      if (request.order !== undefined) this.#guard.isLeaseLive = true;
    }
    await this.#expectAll('renew', holdsRecord && holdsGuard, ({ store }) => store.renew(request));
  }

  async #release({ request, event: place }: Run): Promise<void> {
    const event = this.#events[place] as Event;
    const isMine = event.state === 'running' && event.holder?.token === request.token;
    if (isMine) {
      event.state = 'free';
      event.holder = undefined;
    }
    if (this.#guard.holder?.token === request.token) this.#guard.holder = undefined;
    await this.#expectAll('release', isMine, ({ store }) => store.release(request));
  }

  async #complete({ request, event: place }: Run): Promise<void> {
    const event = this.#events[place] as Event;
    // Only a run that was let in has an effect to record; and while it runs its payload is the record's.
    const wasLetIn = this.#started.get(place)?.has(request.digest) ?? false;
    if (!wasLetIn || event.holder?.token !== request.token) return;
    // Overtaken by a newer state: the inbox rolls the effect back, the others can only record it. The contract has both.
    if (request.order !== undefined && this.#guard.newest > request.order.sequence) return;
    event.state = 'done';
    event.holder = undefined;
    if (request.order !== undefined) {
      this.#guard.newest = Math.max(this.#guard.newest, request.order.sequence);
      if (this.#guard.holder?.token === request.token) this.#guard.holder = undefined;
    }
    await this.#expectAll('complete', 'done', async (opened) => {
      await opened.commitEffect(request);
      return opened.store.complete(request);
    });
  }

  async #endLeases(): Promise<void> {
    for (const event of this.#events) event.isLeaseLive = false;
    this.#guard.isLeaseLive = false;
    await this.#all((opened) => opened.endLeases());
  }

  /** Whatever happened before: once leases are over, every event is done or can run. */
  async checkNothingIsStuck(): Promise<void> {
    await this.#endLeases();
    for (const [place, event] of this.#events.entries()) {
      const run = this.#newRun(place, 0);
      if (event.digest !== undefined) run.request.digest = event.digest;
      await this.#acquire(run);
      if (this.#runs.includes(run) && event.holder === run.request) await this.#release(run);
    }
  }

  async forgetAll(): Promise<void> {
    const last = new Map(this.#runs.map((run) => [run.event, run.request]));
    for (const { key, order } of last.values()) await this.#all(({ store }) => store.forget(key, order?.subject));
  }

  #all<T>(verb: (opened: StoreUnderTest) => Promise<T>): Promise<T[]> {
    return Promise.all(this.stores.map(verb));
  }

  async #expectAll<T>(what: string, expected: T, verb: (opened: StoreUnderTest) => Promise<T>): Promise<void> {
    const answers = await this.#all(verb);
    if (answers.some((answer) => answer !== expected)) {
      throw new Error(`${what}: expected ${String(expected)}, got ${JSON.stringify(answers)}`);
    }
  }
}
