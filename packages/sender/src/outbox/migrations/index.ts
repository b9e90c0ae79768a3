import type { Migration } from '../migrate.js';
import { outbox } from './0001-outbox.js';
import { enqueueFunction } from './0002-enqueue-function.js';
import { consoleIndexes } from './0003-console.js';
import { alerts } from './0004-alerts.js';
import { traces } from './0005-traces.js';
import { leases } from './0006-leases.js';

/** Every migration, oldest first. Append only: what has been released is never edited. */
export const migrations: readonly Migration[] = [outbox, enqueueFunction, consoleIndexes, alerts, traces, leases];
