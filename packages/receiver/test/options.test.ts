import { readFileSync } from 'node:fs';
import { generateSecret } from '@bestnotify/protocol';
import {
  ConfigurationError,
  createReceiver,
  isReceiverError,
  memoryStore,
  memoryStoreDefaults,
  postgresInbox,
  receiverDefaults,
  redisStore,
  redisStoreDefaults,
  type ReceiverOptions,
} from '@bestnotify/receiver';
import { describe, expect, test } from 'vitest';

const secret = generateSecret();
const usable: ReceiverOptions = { source: 'acme-pay', to: 'merchant-42', secrets: secret, store: memoryStore() };

function refusedOption(options: Partial<Record<keyof ReceiverOptions, unknown>>): string {
  try {
    createReceiver({ ...usable, ...options } as ReceiverOptions);
  } catch (error) {
    if (error instanceof ConfigurationError && isReceiverError(error)) return error.option;
    throw error;
  }
  return 'accepted';
}

describe('options that cannot work are refused at construction, by name', () => {
  test.each<[keyof ReceiverOptions, unknown[]]>([
    ['source', [undefined, '', 'has space', 'x'.repeat(129), 'é', 7]],
    ['to', [undefined, '', 'a\nb', null]],
    ['store', [undefined, null, {}, { acquire: () => undefined }]],
    ['profile', ['v2', '']],
    ['unhandled', ['drop']],
    ['replyFormat', ['xml', 1, () => undefined, () => ({ contentType: 'a\r\nb', body: '' })]],
    ['handler', ['function', {}]],
    ['identify', [1]],
    ['onInvalid', ['log']],
    ['latestOnly', ['order.status', ['with space'], [1]]],
    ['handlerTimeoutMs', [0, -1, 1.5, NaN, Infinity, '8000']],
    ['maxBodyBytes', [0]],
    ['bodyTimeoutMs', [0]],
    ['storeTimeoutMs', [0]],
    ['toleranceSeconds', [0, NaN, -300]],
    ['heartbeatMs', [15_001]],
    ['leaseMs', [2 ** 31]],
  ])('%s', (option, values) => {
    for (const value of values) expect(refusedOption({ [option]: value })).toBe(option);
  });

  test('both sides of the boundary between heartbeat and lease', () => {
    expect(refusedOption({ leaseMs: 30_000, heartbeatMs: 15_000 })).toBe('accepted');
    expect(refusedOption({ leaseMs: 30_000, heartbeatMs: 15_001 })).toBe('heartbeatMs');
  });

  test('R065: a retention that ends before the sender does is refused, and the message says what is enough', () => {
    const horizon = receiverDefaults.senderHorizonMs + receiverDefaults.leaseMs;
    expect(refusedOption({ retentionMs: horizon })).toBe('accepted');
    expect(refusedOption({ retentionMs: horizon - 1 })).toBe('retentionMs');
    expect(refusedOption({ retentionMs: 300_000 })).toBe('retentionMs');
    expect(() => createReceiver({ ...usable, retentionMs: 300_000 })).toThrow(String(horizon));
  });

  test.each([
    ['missing', undefined],
    ['empty', ''],
    ['only a prefix', 'whsec_'],
    ['23 bytes', `whsec_${Buffer.alloc(23, 1).toString('base64')}`],
    ['not base64', 'whsec_xyz!'],
    ['with white space', `${secret} `],
    ['of another field', `v1,${secret}`],
    ['a private key', `whsk_${Buffer.alloc(64, 1).toString('base64')}`],
    ['an empty list', []],
    ['one bad in a list', [secret, 'whsec_!!!!']],
    ['nothing in a list', [undefined]],
  ])('R034 R035 R037: a secret that is %s, and the message does not show it', (_what, secrets) => {
    expect(refusedOption({ secrets })).toBe('secrets');
    try {
      createReceiver({ ...usable, secrets } as ReceiverOptions);
    } catch (error) {
      expect(String(error)).not.toContain(secret.slice(6));
    }
  });

  test('R034: a short or a foreign secret of the old profile', () => {
    expect(refusedOption({ profile: 'body-hmac', secrets: 'fifteen bytes!!' })).toBe('secrets');
    expect(refusedOption({ profile: 'body-hmac', secrets: 'sixteen bytes!!!' })).toBe('accepted');
    expect(refusedOption({ profile: 'body-hmac', secrets: secret })).toBe('secrets');
  });

  test('a handler for no type, for a type that has one, or that is none', () => {
    const receiver = createReceiver(usable);
    receiver.on('a', () => undefined);
    expect(() => receiver.on('a', () => undefined)).toThrow(ConfigurationError);
    expect(() => receiver.on('with space', () => undefined)).toThrow(ConfigurationError);
    expect(() => receiver.on('b', undefined as never)).toThrow(ConfigurationError);
  });

  test('stores', () => {
    expect(() => memoryStore({ maxRecords: 0 })).toThrow(/maxRecords/);
    expect(() => redisStore({} as never, { prefix: '{x}' })).toThrow(/prefix/);
    for (const client of [
      'redis://127.0.0.1',
      undefined,
      null,
      {},
      { evalSha: () => undefined, del: () => undefined },
    ]) {
      expect(() => redisStore(client as never)).toThrow(ConfigurationError);
      expect(() => redisStore(client as never)).toThrow(/client .*redisStore\(new Redis\(url\)\)/);
    }
    expect(() => postgresInbox({ database: {} })).toThrow(/database/);
    expect(() => postgresInbox({ database: undefined as never })).toThrow(/database/);
    expect(() => postgresInbox({ database: { query: () => undefined }, schema: 'a"; drop' })).toThrow(/schema/);
  });
});

describe('defaults', () => {
  test.each([
    ['options.ts', receiverDefaults],
    ['stores/memory.ts', memoryStoreDefaults],
    ['stores/redis.ts', redisStoreDefaults],
  ])('the @default of every option in %s is the one in its object', (file, defaults) => {
    const text = readFileSync(new URL(`../src/${file}`, import.meta.url), 'utf8');
    const documented = [...text.matchAll(/@default ([^\n*]+?)(?: \*\/|\n)[^\n]*?(?:\*\/\n\s*)?(?:\s*)(\w+)\?:/g)];
    expect(documented.length).toBeGreaterThan(0);
    for (const [, value = '', option = ''] of documented) {
      const actual = (defaults as Record<string, unknown>)[option];
      if (typeof actual === 'function') continue;
      const shown = typeof actual === 'number' ? String(actual) : JSON.stringify(actual);
      expect(`${option} ${value.trim().replace(/_/g, '').replace(/'/g, '"')}`).toBe(`${option} ${shown}`);
    }
  });

  test('the memory store warns in production, and nowhere else', () => {
    const before = process.env['NODE_ENV'];
    const codesIn = (environment: string) => {
      process.env['NODE_ENV'] = environment;
      const codes: string[] = [];
      createReceiver({ ...usable, onWarning: ({ code }) => codes.push(code) });
      return codes;
    };
    try {
      expect(codesIn('production')).toEqual(['RECEIVER_MEMORY_STORE']);
      expect(codesIn('test')).toEqual([]);
    } finally {
      process.env['NODE_ENV'] = before;
    }
  });
});
