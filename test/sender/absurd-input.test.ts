import fc from 'fast-check';
import { isProtocolError } from '@bestnotify/protocol';
import { generateSecret, isSenderError, type Sender } from '@bestnotify/sender';
import { describe, expect, test } from 'vitest';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, paid, type Outbox } from './fresh-outbox.ts';

/** What a form, a script or a bug may put in the place of any value. */
const absurd = fc.oneof(
  fc.constantFrom<unknown>('\0', 'a\0b', '\ud800', 'x\udc00y', '', ' ', "'", 'x'.repeat(5_000), '€'.repeat(300)),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom<unknown>(NaN, Infinity, -Infinity, -1, -0, 0, 1e-9, 0.5, 1e21, 2 ** 31, 2 ** 53, Number.MAX_VALUE),
  fc.double(),
  fc.constantFrom<unknown>(new Date(NaN), new Date(8.64e15), new Date(-8.64e15), new Date('0000-06-01T00:00:00Z')),
  fc.constantFrom<unknown>(null, true, false, [], {}, ['\0'], ['\ud800'], [null], [1], { a: 1 }, '999999999999999999'),
  fc.constantFrom<unknown>('9223372036854775808', '-1', '1e9', '\u202e', '{}', '[]', 'null', 'ntf_', 'constructor'),
);

type Call = (sender: Sender, input: Record<string, unknown>) => Promise<unknown>;

const sane = {
  id: fc.constantFrom('pending', 'dead'), // see withIds
  endpoint: fc.constantFrom('m', 'other', 'nobody'),
  text: fc.constantFrom('a', 'ORDER7', '支付'),
  moment: fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }),
};
const list = (of: fc.Arbitrary<unknown>) => fc.array(of, { maxLength: 3 });
const action = { actor: sane.text, note: sane.text, endpoints: list(sane.endpoint) };
const filter = {
  ...{ state: fc.constantFrom('delivered', 'dead', 'cancelled', 'closed'), endpoint: sane.endpoint },
  ...{ type: sane.text, bizId: sane.text, subject: sane.text, reason: sane.text, search: sane.text },
  ...{ since: sane.moment, until: sane.moment, ids: list(sane.id), endpoints: list(sane.endpoint) },
};
const page = { limit: fc.integer({ min: 1, max: 10 }), after: sane.text };
const bulk = {
  dryRun: fc.boolean(),
  acceptDuplicateEffect: fc.boolean(),
  perSecond: fc.constantFrom(1, 50),
  ...action,
};

/** Every call that an operator or a platform makes, with its members and what a sane value of each is. */
const calls: Readonly<Record<string, { members: Record<string, fc.Arbitrary<unknown>>; call: Call }>> = {
  list: { members: { ...filter, ...page }, call: ({ operations }, input) => operations.list(input) },
  show: { members: { id: sane.id, endpoints: list(sane.endpoint) }, call: byId('show') },
  stats: {
    members: { endpoints: list(sane.endpoint), diedSince: sane.moment },
    call: ({ operations }, input) => operations.stats(input),
  },
  activity: {
    members: { minutes: fc.constantFrom(1, 60), endpoints: list(sane.endpoint) },
    call: ({ operations }, input) => operations.activity(input),
  },
  endpointHealth: {
    members: { ...page, endpoints: list(sane.endpoint) },
    call: ({ operations }, input) => operations.endpointHealth(input),
  },
  audit: {
    members: { notification: sane.id, endpoint: sane.endpoint, endpoints: list(sane.endpoint), ...page },
    call: ({ operations }, input) => operations.audit(input),
  },
  sendNow: { members: { id: sane.id, ...action }, call: byId('sendNow') },
  cancel: { members: { id: sane.id, ...action }, call: byId('cancel') },
  close: { members: { id: sane.id, ...action }, call: byId('close') },
  erase: { members: { id: sane.id, ...action }, call: byId('erase') },
  resend: {
    members: {
      ...{ id: sane.id, url: fc.constant('https://shop.example/'), acceptDuplicateEffect: fc.boolean() },
      ...{ onlyIf: fc.constantFrom('dead', 'closed'), ...action },
    },
    call: byId('resend'),
  },
  resendMany: {
    members: { ...filter, ...bulk, resume: fc.constantFrom('1', '7') },
    call: ({ operations }, input) => {
      const { dryRun, acceptDuplicateEffect, perSecond, actor, note, resume, ...rest } = input;
      const options = { dryRun, acceptDuplicateEffect, perSecond, actor, note, resume };
      return operations.resendMany(rest, given(options));
    },
  },
  bulkRuns: {
    members: { endpoints: list(sane.endpoint) },
    call: ({ operations }, input) => operations.bulkRuns(input),
  },
  stopBulkRun: {
    members: { run: fc.constantFrom('1', '7'), ...action },
    call: ({ operations }, { run, ...options }) => operations.stopBulkRun(run as string, options),
  },
  holdEndpoint: { members: { endpoint: sane.endpoint, ...action }, call: byEndpoint('holdEndpoint') },
  resumeEndpoint: { members: { endpoint: sane.endpoint, ...action }, call: byEndpoint('resumeEndpoint') },
  testSend: { members: { endpoint: sane.endpoint, ...action }, call: byEndpoint('testSend') },
  rotateSecret: {
    members: {
      endpoint: sane.endpoint,
      secret: fc.constant(generateSecret()),
      overlapHours: fc.constant(0),
      ...action,
    },
    call: byEndpoint('rotateSecret'),
  },
  resealSecrets: { members: action, call: ({ operations }, input) => operations.resealSecrets(input) },
  prune: {
    members: {
      ...{ settledDays: fc.constant(30), deadDays: fc.constant(30), attemptsDays: fc.constant(30) },
      ...{ keysDays: fc.constant(400), batchSize: fc.constant(10), pauseMs: fc.constant(0) },
    },
    call: ({ operations }, input) => operations.prune(input),
  },
  'endpoints.put': {
    members: {
      ...{ id: sane.endpoint, url: fc.constant('https://shop.example/'), secrets: list(fc.constant(generateSecret())) },
      ...{ policy: fc.constantFrom('article', { gapsMs: [1_000] }), maxAttempts: fc.constant(3), owner: sane.text },
      ...{ ack: fc.constant('status'), maxInFlight: fc.constant(2), maxInFlightEverywhere: fc.constant(2) },
      ...{ maxPerSecond: fc.constant(2), allowHttp: fc.boolean(), allowPrivateNetwork: fc.constant(['10.0.0.0/8']) },
      ...{ profile: fc.constantFrom('v1', 'body-hmac'), headers: fc.constant({ 'x-a': 'b' }) },
      ...{ auth: fc.constant({ bearer: 'token' }), tls: fc.constant({ minVersion: 'TLSv1.3' }) },
    },
    call: ({ endpoints }, input) => endpoints.put(input as never),
  },
  'endpoints.get': { members: { id: sane.endpoint }, call: ({ endpoints }, { id }) => endpoints.get(id as string) },
  'endpoints.list': {
    members: { ...page, ids: list(sane.endpoint) },
    call: ({ endpoints }, input) => endpoints.list(input),
  },
  'endpoints.remove': {
    members: { id: fc.constant('nobody') },
    call: ({ endpoints }, { id }) => endpoints.remove(id as string),
  },
  notify: {
    members: {
      ...{ endpoint: sane.endpoint, type: fc.constant('payment.success'), bizId: fc.constantFrom('P1', 'P2') },
      ...{ subject: fc.constant('ORDER7'), url: fc.constant('https://shop.example/'), data: fc.constant({}) },
      ...{ occurredAt: sane.moment, sequence: fc.constant(1), maxAttempts: fc.constant(3) },
      ...{ policy: fc.constant('article'), lane: fc.constant('urgent'), secret: fc.constant(generateSecret()) },
    },
    call: (sender, input) => sender.notify(input as never),
  },
  runOnce: {
    members: {
      ...{ limit: fc.constant(1), concurrency: fc.constant(1), prefetch: fc.constant(1), leaseMs: fc.constant(30_000) },
      ...{ requestTimeoutMs: fc.constant(1_000), connectTimeoutMs: fc.constant(100), minPollMs: fc.constant(1) },
      ...{ maxPollMs: fc.constant(100), maxInFlightPerEndpoint: fc.constant(1), breaker: fc.boolean() },
    },
    call: (sender, input) => sender.runOnce(input),
  },
};

/** What no call goes without. */
const required = ['id', 'endpoint', 'type', 'bizId', 'run'];

function byId(name: 'show' | 'sendNow' | 'cancel' | 'close' | 'erase' | 'resend'): Call {
  return ({ operations }, { id, ...options }) => operations[name](id as string, options as never);
}

function byEndpoint(name: 'holdEndpoint' | 'resumeEndpoint' | 'testSend' | 'rotateSecret'): Call {
  return ({ operations }, { endpoint, ...options }) => operations[name](endpoint as string, options);
}

/** The names `pending` and `dead` become the ids of such rows, also within a list. */
function withIds(value: unknown, ids: ReadonlyMap<unknown, string>): unknown {
  return Array.isArray(value) ? value.map((each: unknown) => ids.get(each) ?? each) : (ids.get(value) ?? value);
}

function given(options: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** Everything that an operator could have changed, as one text. */
async function contentsOf({ query }: Outbox): Promise<string> {
  const tables = [
    'endpoint',
    'endpoint_secret',
    'endpoint_wire',
    'endpoint_health',
    'notification',
    'notification_key',
  ];
  const counted = [...tables, 'outbox', 'audit', 'bulk_resend'];
  const [row] = await query<{ all: string }>(
    `select concat_ws(' ', ${counted.map((table) => `(select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) from ${table} t)`).join(', ')}) as all`,
  );
  return row?.all ?? expect.fail();
}

async function stocked(outbox: Outbox): Promise<ReadonlyMap<unknown, string>> {
  await outbox.putEndpoint({ id: 'm', headers: { 'x-a': 'b' } });
  await outbox.putEndpoint({ id: 'other' });
  const ids = new Map<unknown, string>();
  for (const name of ['pending', 'dead']) {
    const { id } = await outbox.sender.notify({ endpoint: 'm', ...paid, bizId: name });
    ids.set(name, id);
  }
  await outbox.query(
    `update outbox set state = 2, settled_at = now(), reason = 'attempts-used-up' where number = (select max(number) from outbox)`,
  );
  await outbox.query(`update outbox set due_at = now() + interval '1 day' where state = 0`);
  return ids;
}

describe.each(databases)('absurd input on $name', ({ open }) => {
  test.each(Object.entries(calls))(
    '%s answers it, or refuses it with an error of ours and changes nothing',
    async (_what, { members, call }) => {
      await using outbox = await freshOutbox(open);
      const ids = await stocked(outbox);
      const input = fc.record(
        Object.fromEntries(
          Object.entries(members).map(([member, of]) => [
            member,
            fc.oneof(
              { weight: 3, arbitrary: of.map((value) => withIds(value, ids)) },
              { weight: 1, arbitrary: absurd },
            ),
          ]),
        ),
        { requiredKeys: Object.keys(members).filter((member) => required.includes(member)) },
      );
      await fc.assert(
        fc.asyncProperty(input, async (facts) => {
          const before = await contentsOf(outbox);
          try {
            await call(outbox.sender, facts);
          } catch (error) {
            if (!isSenderError(error) && !isProtocolError(error)) throw error;
            expect(await contentsOf(outbox)).toBe(before);
          }
        }),
        { numRuns: 25 },
      );
    },
  );
});
