import type { Answer } from './answer.js';
import { cancel, close, resend, sendNow } from './api/act-on-notification.js';
import { listAudit } from './api/audit.js';
import { bulkResend, listRuns, stopRun } from './api/bulk-resend.js';
import type { Call } from './api/call.js';
import { hold, listEndpoints, resume, rotateSecret, showEndpoint, testSend } from './api/endpoints.js';
import { downloadBody, downloadReply, listNotifications, showNotification } from './api/notifications.js';
import { overview, session } from './api/overview.js';

export interface Route {
  method: 'GET' | 'POST';
  /** `:id` and `:number` stand for one part of a path. */
  path: string;
  /** What the role must allow. Every POST is an action. */
  needs: 'view' | 'bodies' | 'act';
  answer: (call: Call) => Answer | Promise<Answer>;
}

/** The whole API; what is not here is a file of the page or does not exist. */
export const routes: readonly Route[] = [
  { method: 'GET', path: '/api/session', needs: 'view', answer: session },
  { method: 'GET', path: '/api/overview', needs: 'view', answer: overview },
  { method: 'GET', path: '/api/notifications', needs: 'view', answer: listNotifications },
  { method: 'GET', path: '/api/notifications/:id', needs: 'view', answer: showNotification },
  { method: 'GET', path: '/api/notifications/:id/body', needs: 'bodies', answer: downloadBody },
  { method: 'GET', path: '/api/notifications/:id/replies/:number', needs: 'bodies', answer: downloadReply },
  { method: 'POST', path: '/api/notifications/:id/resend', needs: 'act', answer: resend },
  { method: 'POST', path: '/api/notifications/:id/send-now', needs: 'act', answer: sendNow },
  { method: 'POST', path: '/api/notifications/:id/cancel', needs: 'act', answer: cancel },
  { method: 'POST', path: '/api/notifications/:id/close', needs: 'act', answer: close },
  { method: 'POST', path: '/api/bulk-resend', needs: 'act', answer: bulkResend },
  { method: 'GET', path: '/api/bulk-runs', needs: 'view', answer: listRuns },
  { method: 'POST', path: '/api/bulk-runs/:id/stop', needs: 'act', answer: stopRun },
  { method: 'GET', path: '/api/endpoints', needs: 'view', answer: listEndpoints },
  { method: 'GET', path: '/api/endpoints/:id', needs: 'view', answer: showEndpoint },
  { method: 'POST', path: '/api/endpoints/:id/hold', needs: 'act', answer: hold },
  { method: 'POST', path: '/api/endpoints/:id/resume', needs: 'act', answer: resume },
  { method: 'POST', path: '/api/endpoints/:id/rotate-secret', needs: 'act', answer: rotateSecret },
  { method: 'POST', path: '/api/endpoints/:id/test-send', needs: 'act', answer: testSend },
  { method: 'GET', path: '/api/audit', needs: 'view', answer: listAudit },
];

/** The routes whose path this is, with what stands for `:id` and `:number`. */
export function matchRoutes(path: string): { route: Route; id: string; number: string }[] {
  const parts = path.split('/');
  return routes.flatMap((route) => {
    const pattern = route.path.split('/');
    if (pattern.length !== parts.length) return [];
    const named: Record<string, string> = {};
    for (const [index, expected] of pattern.entries()) {
      const part = parts[index] ?? '';
      if (expected.startsWith(':')) named[expected] = decode(part);
      else if (part !== expected) return [];
    }
    return [{ route, id: named[':id'] ?? '', number: named[':number'] ?? '' }];
  });
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // half an escape is no id of ours either way
  }
}
