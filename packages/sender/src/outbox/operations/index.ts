import { cancel, close, holdEndpoint, resend, resumeEndpoint, sendNow, type ResendOptions } from './actions.js';
import type { Action, OperationContext } from './context.js';
import {
  list,
  show,
  stats,
  type ListFilter,
  type NotificationDetails,
  type NotificationSummary,
  type Stats,
} from './queries.js';

/** What an operator may ask and do. Every change is conditional on the row's current state, and audited. */
export interface Operations {
  list(filter?: ListFilter): Promise<{ items: NotificationSummary[]; next: string | null }>;
  show(id: string): Promise<NotificationDetails>;
  stats(): Promise<Stats>;
  sendNow(id: string, options?: Action): Promise<void>;
  resend(id: string, options?: ResendOptions): Promise<void>;
  cancel(id: string, options?: Action): Promise<void>;
  close(id: string, options: Action & { note: string }): Promise<void>;
  holdEndpoint(endpoint: string, options?: Action): Promise<void>;
  resumeEndpoint(endpoint: string, options?: Action): Promise<void>;
}

export function createOperations(context: OperationContext): Operations {
  return {
    list: (filter) => list(context, filter),
    show: (id) => show(context, id),
    stats: () => stats(context),
    sendNow: (id, options) => sendNow(context, id, options),
    resend: (id, options) => resend(context, id, options),
    cancel: (id, options) => cancel(context, id, options),
    close: (id, options) => close(context, id, options),
    holdEndpoint: (endpoint, options) => holdEndpoint(context, endpoint, options),
    resumeEndpoint: (endpoint, options) => resumeEndpoint(context, endpoint, options),
  };
}
