import type { AlertWatch } from '../alerts/alert-watch.js';
import type { WorkerOptions } from '../options.js';
import { startMaintenance, type MaintenanceParts } from './maintenance.js';
import type { WorkerParts } from './pipeline.js';
import type { WakeUp } from './wake-up.js';
import { startWorker, type Worker } from '../worker.js';

/** The resident workers of one sender, and what runs beside them. */
export class ResidentWorkers {
  readonly #workers = new Set<Worker>();
  readonly #partsFor: (options: WorkerOptions | undefined) => WorkerParts;
  readonly #maintenance: MaintenanceParts;
  readonly #wakeUp: WakeUp | undefined;
  readonly #alerts: AlertWatch | undefined;
  #stopMaintenance: (() => Promise<void>) | undefined;
  #stopAlerts: (() => Promise<void>) | undefined;

  constructor(parts: {
    partsFor: (options: WorkerOptions | undefined) => WorkerParts;
    maintenance: MaintenanceParts;
    wakeUp: WakeUp | undefined;
    alerts: AlertWatch | undefined;
  }) {
    this.#partsFor = parts.partsFor;
    this.#maintenance = parts.maintenance;
    this.#wakeUp = parts.wakeUp;
    this.#alerts = parts.alerts;
  }

  /** Something is due: workers here look at once, workers elsewhere are told when that is asked for. */
  nudge(): void {
    for (const worker of this.#workers) worker.nudge();
    this.#wakeUp?.announce();
  }

  /** Requests in flight now, of all workers. */
  get inFlight(): number {
    return [...this.#workers].reduce((sum, worker) => sum + worker.inFlight, 0);
  }

  start(options?: WorkerOptions): Worker {
    const parts = this.#partsFor(options);
    const worker = startWorker(parts);
    const tracked: Worker = {
      get inFlight() {
        return worker.inFlight;
      },
      nudge: () => worker.nudge(),
      stop: async (stopOptions) => {
        const summary = await worker.stop(stopOptions);
        this.#workers.delete(tracked);
        await parts.deliverer.close();
        if (this.#workers.size === 0) await this.#endMaintenance();
        return summary;
      },
    };
    this.#workers.add(tracked);
    this.#stopMaintenance ??= startMaintenance(this.#maintenance);
    this.#stopAlerts ??= this.#alerts?.start();
    this.#wakeUp?.listen(() => {
      for (const each of this.#workers) each.nudge();
    });
    return tracked;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.stop()));
    await this.#endMaintenance();
    await this.#wakeUp?.close();
  }

  async #endMaintenance(): Promise<void> {
    const stops = [this.#stopMaintenance, this.#stopAlerts];
    this.#stopMaintenance = undefined;
    this.#stopAlerts = undefined;
    await Promise.all(stops.map(async (stop) => stop?.()));
  }
}
