import { generateSecret, type Alert, type AlertsOptions, type SenderOptions } from '@bestnotify/sender';
import { scriptedEndpoint, type RecordedRequest, type ScriptedEndpoint } from '@bestnotify/sender/testing';
import type { TestDatabase } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

/** One attempt and it is over: a notification that is refused once is dead. */
export const once = { maxAttempts: 1 } as const;

export const opsSecret = generateSecret();

/** A webhook channel on loopback. */
export function webhook(url: string) {
  return { kind: 'webhook', url, secret: opsSecret, allowHttp: true, allowPrivateNetwork: true } as const;
}

export function alertsTo(
  channels: AlertsOptions['channels'],
  more: Partial<AlertsOptions> = {},
): Partial<SenderOptions> {
  return { alerts: { checkEveryMs: 50, ...(channels && { channels }), ...more } };
}

/** The alert in a webhook's request. */
export function alertIn(request: RecordedRequest): Alert {
  return (JSON.parse(request.body.toString('utf8')) as { data: Alert }).data;
}

export function alertsAt(endpoint: ScriptedEndpoint): Alert[] {
  return endpoint.requests.map(alertIn);
}

/** The next digest may be told now, whatever its window says. */
export async function openWindows(outbox: Outbox): Promise<void> {
  await outbox.query("update alert_digest set opens_at = now() - interval '1 second'");
}

/** An outbox with alerts, a merchant who refuses everything, and the operators' receiver. */
export async function scene(
  open: () => Promise<TestDatabase>,
  more: Partial<AlertsOptions> = {},
  options: Partial<SenderOptions> = {},
) {
  const ops = await scriptedEndpoint(200);
  const merchant = await scriptedEndpoint(404);
  const outbox = await freshOutbox(open, { ...alertsTo({ ops: webhook(ops.url) }, more), ...options });
  await outbox.putEndpoint({ id: 'merchant-42', url: merchant.url });
  return {
    ops,
    merchant,
    outbox,
    kill: async (count: number, { from = 0, endpoint = 'merchant-42' } = {}) => {
      const all = Array.from({ length: count }, (_, index) => ({
        endpoint,
        ...paid,
        ...once,
        bizId: `PAY${from + index}`,
      }));
      for (let at = 0; at < count; at += 1000) await outbox.sender.notifyMany(all.slice(at, at + 1000));
    },
    async [Symbol.asyncDispose]() {
      await outbox[Symbol.asyncDispose]();
      await ops[Symbol.asyncDispose]();
      await merchant[Symbol.asyncDispose]();
    },
  };
}
