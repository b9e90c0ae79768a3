import {
  ConfigurationError,
  createSender,
  isSenderError,
  type SenderOptions,
  type WorkerOptions,
} from '@bestnotify/sender';
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

  test.each<[option: string, options: Partial<Record<keyof SenderOptions, unknown>>, says: string]>([
    [
      'allowPrivateNetwork',
      { allowPrivateNetwork: true },
      "must be a list of networks such as ['127.0.0.0/8']. `true` is only for endpoints.",
    ],
    ['denyNetwork', { denyNetwork: '10.0.0.0/8' }, "must be a list of networks such as ['127.0.0.0/8']."],
    ['allowedPorts', { allowedPorts: 443 }, 'must be a list of ports and pairs such as [443, [8000, 8999]].'],
    ['types', { types: ['payment'] }, 'must be an object.'],
    ['types.payment', { types: { payment: 'urgent' } }, 'must be an object.'],
    ['secretStorage.keys', { secretStorage: { keys: 'c2hvcnQ=' } }, 'must be a list of keys such as [{ id, key }].'],
    ['alerts.kinds', { alerts: { kinds: 'dead' } }, 'must be a list of'],
  ])('the wrong kind of %s is named, with what belongs there: %o', (named, options, says) => {
    const { option, message } = refusal(options);
    expect(option).toBe(named);
    expect(message).toContain(`Option ${named} ${says}`);
  });

  const absurd = [null, true, 7, '', 'x', [], [null], [7], ['x'], [[null]], {}, { a: null }, { a: 7 }, () => undefined];
  const deeper = ['keys', 'resolve', 'maxConnections', 'settledDays', 'channels', 'email', 'heartbeat', 'kinds', 'ops'];
  const everyOption = {
    ...{ source: '', database: '', schema: '', postgres: '', policy: '', policies: '', types: '', acks: '' },
    ...{ secretStorage: '', endpointDefaults: '', allowPrivateNetwork: '', denyNetwork: '', allowedPorts: '' },
    ...{ alerts: '', retention: '', wakeUp: '', logger: '' },
  } satisfies Record<keyof SenderOptions, string>;
  test.each(Object.keys(everyOption))('%s of any kind is taken, or refused with an error of ours', (option) => {
    for (const value of [...absurd, ...deeper.flatMap((member) => absurd.map((of) => ({ [member]: of })))]) {
      try {
        createSender({ source: 'acme-pay', database, [option]: value });
      } catch (error) {
        expect(isSenderError(error), `${option}: ${JSON.stringify(value)}: ${String(error)}`).toBe(true);
      }
    }
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
