import { readdirSync, readFileSync } from 'node:fs';
import { replies, type ReplyReason } from '@bestnotify/protocol';
import { memoryStore } from '@bestnotify/receiver';
import { nodeHttpHandler } from '@bestnotify/receiver/node-http';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  genuine,
  line,
  listening,
  rawExchange,
  receiverFor,
  secret,
  source,
  to,
  type Listening,
} from '../receiver/merchant.ts';

const slowestMs = 2_000;
const unhandled: unknown[] = [];
const told: string[] = [];
const note = (error: unknown): void => void unhandled.push(error);
beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => void process.off('unhandledRejection', note));
afterEach(() => {
  expect(unhandled.splice(0)).toEqual([]);
  const text = told.splice(0).join('\n');
  expect(text.includes(secret) || text.includes(secret.slice(6))).toBe(false);
  expect(text).not.toContain('MARKER');
});

function fuzzedReceiver() {
  const hear = (facts: object): void =>
    void told.push(JSON.stringify(facts), String('error' in facts ? facts.error : ''));
  return receiverFor({
    store: memoryStore({ maxRecords: 500 }),
    handler: () => undefined,
    bodyTimeoutMs: 100,
    maxBodyBytes: 64 * 1024,
    onInvalid: hear,
    onError: hear,
    onConflict: hear,
  });
}

/** One row of the table, and nothing but that row. */
function expectRow(reply: {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}): ReplyReason {
  const reason = reply.headers['bestnotify-reason'] as ReplyReason;
  expect(Object.keys(replies)).toContain(reason);
  expect(line(reply)).toBe(`${replies[reason].status} ${replies[reason].word} ${reason}`);
  expect('retry-after' in reply.headers).toBe(replies[reason].retryAfter);
  return reason;
}

const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ maxLength: 4_000 }),
  fc.constantFrom(
    '',
    ' ',
    ',',
    '\u0000',
    '\r\n x',
    'é',
    '支付',
    'v1,',
    'v1',
    'v1a,AAAA',
    'x'.repeat(16_384),
    '__proto__',
    '-1',
    '1e9',
    '99999999999999',
  ),
);
const signatureHeader = fc.oneof(
  anyText,
  fc
    .array(fc.constantFrom('v1,', 'v2,', 'v1a,', 'v1,AAAA', `v1,${Buffer.alloc(32, 1).toString('base64')}`, 'v9z,x'), {
      maxLength: 15,
    })
    .map((list) => list.join(' ')),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => `v1,${Buffer.from(bytes).toString('base64')}`),
  fc.string({ minLength: 64, maxLength: 65, unit: fc.constantFrom('a', 'é', '0') }),
);
const timestampHeader = fc.oneof(anyText, fc.integer().map(String), fc.double().map(String), fc.bigInt().map(String));
const headerName = fc.constantFrom(
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'Webhook-Id',
  'WEBHOOK-SIGNATURE',
  'content-type',
  'content-length',
  'content-encoding',
  'x-signature',
  'x-event-type',
  'bestnotify-attempt',
);
const anyHeader = fc.tuple(
  headerName,
  fc.oneof(signatureHeader, timestampHeader, fc.array(anyText, { maxLength: 3 }), fc.constant(undefined)),
);
const anyBody = fc.oneof(
  fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .object({ withNullPrototype: true, maxDepth: 4 })
    .map((value) => Buffer.from(safeJson({ source, to, type: 'a', bizId: '1', data: value }))),
  fc
    .record(
      {
        source: fc.anything(),
        to: fc.anything(),
        type: fc.anything(),
        bizId: fc.anything(),
        subject: fc.anything(),
        sequence: fc.anything(),
        data: fc.anything(),
      },
      { requiredKeys: [] },
    )
    .map((value) => Buffer.from(safeJson(value))),
  fc.constantFrom(...corpus().map(({ body }) => body)),
);

function safeJson(value: unknown): string {
  try {
    const plain = (_key: string, member: unknown): unknown => (typeof member === 'bigint' ? String(member) : member);
    const text = JSON.stringify(value, plain) as string | undefined; // undefined has no JSON form
    return text ?? 'null';
  } catch {
    return '{}';
  }
}

/** Bodies kept in the tree: each once made somebody's receiver fail. A `.hex` file is bytes, `.repeat` is `text*count` lines. */
function corpus(): { name: string; body: Buffer }[] {
  const folder = new URL('./corpus/', import.meta.url);
  return readdirSync(folder).map((name) => {
    const text = readFileSync(new URL(name, folder), 'utf8').replace(/\n$/, '');
    if (name.endsWith('.hex')) return { name, body: Buffer.from(text.replace(/\s/g, ''), 'hex') };
    if (!name.endsWith('.repeat')) return { name, body: Buffer.from(text) };
    const parts = text.split('\n').map((row) => /^(.*)\*(\d+)$/.exec(row));
    return { name, body: Buffer.from(parts.map((part) => (part?.[1] ?? '').repeat(Number(part?.[2] ?? 0))).join('')) };
  });
}

describe('any request at all is answered with one row of the table, in bounded time', () => {
  test('methods, headers and bodies from nowhere', { timeout: 60_000 }, async () => {
    const receiver = fuzzedReceiver();
    const seen = new Map<string, number>();
    const method = fc.oneof({ weight: 9, arbitrary: fc.constant('POST') }, { weight: 1, arbitrary: anyText });
    await fc.assert(
      fc.asyncProperty(method, fc.array(anyHeader, { maxLength: 8 }), anyBody, async (given, headers, body) => {
        const startedAtMs = performance.now();
        const reason = expectRow(await receiver.handle({ method: given, headers: Object.fromEntries(headers), body }));
        expect(performance.now() - startedAtMs).toBeLessThan(slowestMs);
        seen.set(reason, (seen.get(reason) ?? 0) + 1);
      }),
      { numRuns: 3_000 },
    );
    console.log(`fuzz, requests from nowhere: ${JSON.stringify(Object.fromEntries(seen))}`);
  });

  test('genuine signatures over any bytes', { timeout: 60_000 }, async () => {
    const receiver = fuzzedReceiver();
    const seen = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(anyBody, async (body) => {
        const reason = expectRow(await receiver.handle(genuine({}, { body })));
        expect(['handled', 'duplicate', 'payload-conflict', 'malformed', 'wrong-audience', 'too-large']).toContain(
          reason,
        );
        seen.set(reason, (seen.get(reason) ?? 0) + 1);
      }),
      { numRuns: 3_000 },
    );
    console.log(`fuzz, genuine signatures over any bytes: ${JSON.stringify(Object.fromEntries(seen))}`);
  });

  test(
    'one genuine request with one thing changed is never handled as something else',
    { timeout: 60_000 },
    async () => {
      let runs = 0;
      const receiver = fuzzedReceiver();
      const { headers, body } = genuine({ data: { amount: '100.00' } });
      const signed = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...signed, 'body'),
          fc.nat(),
          fc.integer({ min: 1, max: 255 }),
          async (what, at, flip) => {
            runs += 1;
            const changed = { method: 'POST', headers: { ...headers }, body: Buffer.from(body) };
            if (what === 'body') changed.body[at % body.byteLength]! ^= flip;
            else {
              const value = Buffer.from(headers[what]!, 'latin1');
              value[at % value.byteLength]! ^= flip;
              changed.headers[what] = value.toString('latin1');
            }
            const reason = expectRow(await receiver.handle(changed));
            expect(['invalid-signature', 'stale-timestamp']).toContain(reason);
          },
        ),
        { numRuns: 3_000 },
      );
      console.log(`fuzz, one change in a genuine request: ${runs} runs, none accepted`);
    },
  );

  test.each(corpus())('the body $name of the corpus', async ({ body }) => {
    const receiver = fuzzedReceiver();
    const startedAtMs = performance.now();
    const reason = expectRow(await receiver.handle(genuine({}, { body })));
    expect(['handled', 'malformed', 'wrong-audience', 'too-large']).toContain(reason);
    expectRow(await receiver.handle({ method: 'POST', headers: {}, body }));
    expect(performance.now() - startedAtMs).toBeLessThan(slowestMs);
  });
});

describe('over a real socket', () => {
  let server: Listening;
  const receiver = fuzzedReceiver();
  beforeAll(async () => void (server = await listening(nodeHttpHandler(receiver))));
  afterAll(() => server[Symbol.asyncDispose]());

  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom('a', '\r\n', '0\r\n\r\n', '5\r\nhello\r\n', 'ffffffff\r\n', '-1\r\n', '{"a":', '\u0000'),
  );
  const framing = fc.constantFrom(
    'content-length: 0',
    'content-length: 5',
    'content-length: 70000',
    'content-length: 99999999999',
    'transfer-encoding: chunked',
    'transfer-encoding: chunked\r\ncontent-encoding: gzip',
    'content-length: 5\r\nexpect: 100-continue',
    `content-length: 5\r\nwebhook-signature: v1,a\r\nwebhook-signature: v1,b`,
    `content-length: 5\r\nwebhook-id: a\r\nwebhook-id: b`,
    `content-length: 5\r\nx-long: ${'x'.repeat(8_000)}`,
    'content-length: 5\r\nwebhook-id: \u00e9\u00ff',
  );

  test(
    'truncated, endless, slow and misframed bodies end in a row, in an HTTP error of the server, or with the sender',
    { timeout: 120_000 },
    async () => {
      const seen = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom('POST', 'PUT', 'GET'),
          framing,
          fc.array(piece, { maxLength: 4 }),
          async (method, frame, pieces) => {
            const head = `${method} /notify HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${frame}\r\n\r\n`;
            const startedAtMs = performance.now();
            const answer = await rawExchange(server.port, [Buffer.from(head, 'latin1'), ...pieces]);
            expect(performance.now() - startedAtMs).toBeLessThan(slowestMs + 3_000);
            const status = /^HTTP\/1.1 (?:100 Continue\r\n\r\nHTTP\/1.1 )?(\d+)/.exec(answer)?.[1] ?? 'cut';
            const reason = /bestnotify-reason: (\S+)/.exec(answer)?.[1];
            if (reason !== undefined) expect(Number(status)).toBe(replies[reason as ReplyReason].status);
            else expect(['cut', '400', '417', '431']).toContain(status); // node:http refused the framing before it was a request
            seen.set(reason ?? status, (seen.get(reason ?? status) ?? 0) + 1);
          },
        ),
        { numRuns: 300 },
      );
      console.log(`fuzz, raw sockets: ${JSON.stringify(Object.fromEntries(seen))}`);
      expect(receiver.stats().running).toBe(0);
    },
  );
});

test('a flood of refused requests leaves no memory behind', { timeout: 60_000 }, async () => {
  const receiver = fuzzedReceiver();
  const body = Buffer.alloc(32 * 1024, 0x61);
  const flood = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i += 1)
      await receiver.handle({
        method: 'POST',
        headers: { 'webhook-id': `x${i}`, 'webhook-timestamp': '1', 'webhook-signature': 'v1,a' },
        body,
      });
  };
  await flood(2_000);
  told.length = 0;
  const before = process.memoryUsage().heapUsed;
  await flood(20_000);
  told.length = 0;
  const grownMiB = (process.memoryUsage().heapUsed - before) / 1024 / 1024;
  expect(grownMiB).toBeLessThan(60);
});
