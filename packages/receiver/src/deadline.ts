const longestTimerMs = 2 ** 31 - 1;

/** A limit that is running. */
export class Deadline {
  previous: Deadline | undefined;
  next: Deadline | undefined;
  isRunning = true;

  constructor(
    private readonly line: DeadlineLine,
    readonly endsAtMs: number,
    readonly onOver: () => void,
  ) {}

  stop(): void {
    if (this.isRunning) this.line.remove(this);
  }
}

/**
 * Limits of one length, in the order in which they end, on one timer. A request has five of them and hardly ever meets one: a timer
 * for each costs more than what it guards.
 */
class DeadlineLine {
  #first: Deadline | undefined;
  #last: Deadline | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly lengthMs: number,
    private readonly onIdle: () => void,
  ) {}

  add(onOver: () => void): Deadline {
    const deadline = new Deadline(this, performance.now() + this.lengthMs, onOver);
    const last = this.#last;
    this.#last = deadline;
    if (last === undefined) {
      this.#first = deadline;
      // A timer that was set for an earlier one wakes too soon, sees that, and goes on: that is cheaper than setting it anew.
      if (this.#timer === undefined) this.#sleep(this.lengthMs);
      else this.#timer.ref();
    } else {
      last.next = deadline;
      deadline.previous = last;
    }
    return deadline;
  }

  remove(deadline: Deadline): void {
    deadline.isRunning = false;
    const { previous, next } = deadline;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    if (this.#first === undefined) this.#timer?.unref();
  }

  #sleep(waitMs: number): void {
    this.#timer = setTimeout(() => this.#wake(), Math.min(waitMs, longestTimerMs));
  }

  #wake(): void {
    this.#timer = undefined;
    const next = this.#endDue(performance.now());
    if (next === undefined) this.onIdle();
    else if (!this.#isTimed()) this.#sleep(next.endsAtMs - performance.now());
  }

  /** Ends what is due. Gives the first that is not. */
  #endDue(nowMs: number): Deadline | undefined {
    for (;;) {
      const first = this.#first;
      if (first === undefined || first.endsAtMs > nowMs) return first;
      this.remove(first);
      first.onOver();
    }
  }

  /** One that was over may have started the next, and its timer. */
  #isTimed(): boolean {
    return this.#timer !== undefined;
  }
}

const lines = new Map<number, DeadlineLine>();

/**
 * Calls `onOver` once `lengthMs` have passed by the steady clock, unless it is stopped before. Keeps the process alive as a timer does.
 *
 * @param lengthMs - best a setting, so that there are few of them: each has a line of its own while it is in use.
 * @param onOver - must not throw, and runs in no async context of anybody's.
 */
export function startDeadline(lengthMs: number, onOver: () => void): Deadline {
  let line = lines.get(lengthMs);
  if (line === undefined) lines.set(lengthMs, (line = new DeadlineLine(lengthMs, () => lines.delete(lengthMs))));
  return line.add(onOver);
}
