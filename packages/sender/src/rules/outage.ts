/** An outage is only ours if at least this many endpoints were tried at once: with fewer, they may simply all be down. */
export const outageMinEndpoints = 8;
/** The share of them that could not be reached. */
const outageShare = 0.8;
/** What counts as "at once", in ms. */
const outageWindowMs = 5_000;
/** How long an unreachable endpoint's verdict waits for what the others say, in ms. */
export const outageDecisionMs = 1_000;
export const firstSuspensionMs = 10_000;
export const longestSuspensionMs = 60_000;
/** How long a note stands before the same is noted again, in ms. */
const sameNoteMs = 500;

/**
 * Tells our own outage (no route, no name server) from endpoints that are down: then most of many endpoints fail to
 * connect at the same time.
 */
export class OutageWatch {
  readonly #last = new Map<string, { atMs: number; isUnreachable: boolean }>();

  /** Notes how the last attempt at an endpoint ended. */
  note(endpointKey: string, at: { atMs: number; isUnreachable: boolean }): void {
    const last = this.#last.get(endpointKey);
    if (last?.isUnreachable === at.isUnreachable && at.atMs - last.atMs < sameNoteMs) return; // thousands a second say the same
    this.#last.delete(endpointKey); // the map stays in the order of time
    this.#last.set(endpointKey, at);
    for (const [key, { atMs }] of this.#last) {
      if (at.atMs - atMs <= outageWindowMs) break;
      this.#last.delete(key);
    }
  }

  /** How many endpoints are unreachable if the fault is ours; 0 if it is not. */
  endpointsOut(nowMs: number): number {
    let recent = 0;
    let unreachable = 0;
    for (const { atMs, isUnreachable } of this.#last.values()) {
      if (nowMs - atMs > outageWindowMs) continue;
      recent += 1;
      if (isUnreachable) unreachable += 1;
    }
    return recent >= outageMinEndpoints && unreachable >= recent * outageShare ? unreachable : 0;
  }

  /** Endpoints tried lately, or being tried now. */
  sizeWith(held: Iterable<string>): number {
    return new Set([...this.#last.keys(), ...held]).size;
  }
}
