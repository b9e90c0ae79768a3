import { ConfigurationError, createSender, type SenderOptions, type WorkerOptions } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { marginOf, resolveWorkerOptions } from '../src/options.ts';
import { version } from '../src/version.ts';
import packageJson from '../package.json' with { type: 'json' };

const database = 'postgres://127.0.0.1:1/none'; // never connected to: a sender that cannot work is refused before that

/** The option that is named, and the whole message. */
function refusal(options: Partial<Record<keyof SenderOptions, unknown>>): { option: string; message: string } {
  try {
    createSender({ source: 'acme-pay', database, ...options } as SenderOptions);
  } catch (error) {
    if (error instanceof ConfigurationError) return { option: error.option, message: error.message };
    throw error;
  }
  return { option: 'none', message: 'nothing was refused' };
}

describe('a sender that cannot work is refused when it is made', () => {
  test.each<[named: string, options: Partial<Record<keyof SenderOptions, unknown>>]>([
    ['source', { source: '' }],
    ['source', { source: 'acme pay' }],
    ['source', { source: undefined }],
    ['source', { source: 'x'.repeat(129) }],
    ['database', { database: 'mysql://127.0.0.1/orders' }],
    ['database', { database: 'pglite:' }],
    ['database', { database: {} }],
    ['database', { database: 7 }],
    ['schema', { schema: 'My Schema' }],
    ['policy', { policy: 'fastest' }],
    ['policies.alipay', { policies: { alipay: { gapsMs: [1000] } } }],
    ['policies.own.gapsMs', { policies: { own: { gapsMs: [] } } }],
    ['policies.own.gapsMs[1]', { policies: { own: { gapsMs: [1000, -1] } } }],
    ['types.payment.policy', { types: { payment: { policy: 'fastest' } } }],
    ['types.payment.maxAttempts', { types: { payment: { maxAttempts: 0 } } }],
    ['types.payment.lane', { types: { payment: { lane: 'fast' } } }],
    ['acks.success', { acks: { success: () => true } }],
    ['acks.own', { acks: { own: 'OK' } }],
    ['ack', { endpointDefaults: { ack: 'own' } }],
    ['policy', { endpointDefaults: { policy: 'fastest' } }],
    ['maxInFlight', { endpointDefaults: { maxInFlight: 0 } }],
    ['allowPrivateNetwork[0]', { allowPrivateNetwork: ['10.0.0.0/33'] }],
    ['allowPrivateNetwork[1]', { allowPrivateNetwork: ['10.0.0.0/8', '0.0.0.0/0'] }],
    ['denyNetwork[0]', { denyNetwork: ['everything'] }],
    ['allowedPorts[1]', { allowedPorts: [443, 0] }],
    ['allowedPorts[0]', { allowedPorts: [[2000, 1000]] }],
    ['postgres.maxConnections', { postgres: { maxConnections: 0 } }],
    ['postgres.queryTimeoutMs', { postgres: { queryTimeoutMs: 2 ** 31 } }], // R131: such a timer would fire at once
    ['postgres.queryTimeoutMs', { postgres: { queryTimeoutMs: Number.NaN } }],
    ['secretStorage.keys', { secretStorage: { keys: [{ id: 'a', key: 'c2hvcnQ=' }] } }],
    ['retention.settledDays', { retention: { settledDays: -1 } }],
    ['wakeUp', { wakeUp: 'push' }],
    ['wakeUp', { wakeUp: 'notify', database: 'pglite:.bestnotify' }],
  ])('naming %s: %o', (named, options) => {
    const { option, message } = refusal(options);
    expect(option).toBe(named);
    expect(message).toContain(`Option ${named}`);
  });

  test('and everything that may be left out may be left out', async () => {
    const sender = createSender({ source: 'acme-pay' });
    expect(sender.source).toBe('acme-pay');
    await sender.close();
  });
});

describe('a worker that cannot work is refused when it is started', () => {
  test.each<[named: string, options: WorkerOptions]>([
    ['concurrency', { concurrency: 0 }],
    ['concurrency', { concurrency: 1.5 }],
    ['concurrency', { concurrency: Number.POSITIVE_INFINITY }],
    ['prefetch', { prefetch: -1 }],
    ['maxInFlightPerEndpoint', { maxInFlightPerEndpoint: 0 }],
    ['requestTimeoutMs', { requestTimeoutMs: 0 }],
    ['connectTimeoutMs', { connectTimeoutMs: Number.NaN }],
    ['leaseMs', { leaseMs: 14_999 }],
    ['leaseMs', { requestTimeoutMs: 26_000 }],
    ['minPollMs', { minPollMs: 0 }],
    ['maxPollMs', { maxPollMs: 60_001 }], // R131: due times live in the database, no timer is long
    ['maxPollMs', { maxPollMs: 49 }],
  ])('naming %s: %o', (named, options) => {
    expect(() => resolveWorkerOptions(options)).toThrow(expect.objectContaining({ option: named }) as Error);
  });

  test('a lease must leave time to settle: 5 s, or half of a shorter request', () => {
    expect(resolveWorkerOptions({ leaseMs: 15_000 }).leaseMs).toBe(15_000);
    expect(marginOf({ requestTimeoutMs: 10_000 })).toBe(5_000);
    expect(marginOf({ requestTimeoutMs: 400 })).toBe(200);
    expect(resolveWorkerOptions({ requestTimeoutMs: 400, leaseMs: 600 }).leaseMs).toBe(600);
    expect(() => resolveWorkerOptions({ requestTimeoutMs: 400, leaseMs: 599 })).toThrow(ConfigurationError);
  });

  test('an endpoint gets an eighth of the slots, at least one', () => {
    expect(resolveWorkerOptions().maxInFlightPerEndpoint).toBe(8);
    expect(resolveWorkerOptions({ concurrency: 7 }).maxInFlightPerEndpoint).toBe(1);
    expect(resolveWorkerOptions({ concurrency: 7, maxInFlightPerEndpoint: 5 }).maxInFlightPerEndpoint).toBe(5);
  });

  test('an option that is undefined is one that was left out', () => {
    const options = { concurrency: undefined } as unknown as WorkerOptions;
    expect(resolveWorkerOptions(options).concurrency).toBe(64);
  });
});

test('the user agent names the version of the package', () => {
  expect(version).toBe(packageJson.version);
});
