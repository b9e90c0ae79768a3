import { ConfigurationError as ReceiverConfigurationError, createReceiver, memoryStore } from '@bestnotify/receiver';
import { ConfigurationError, createSender, type Logger } from '@bestnotify/sender';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { openBusyDay } from './busy-day.ts';

/** Pino itself, and the lines it wrote. */
function recordLines(level: string) {
  const texts: string[] = [];
  const logger = pino({ level, base: null, timestamp: false }, { write: (text) => void texts.push(text) });
  return { logger, texts, lines: () => texts.map((text) => JSON.parse(text) as Record<string, unknown>) };
}

const numbers = { debug: 20, info: 30, warn: 40, error: 50 };

test('a sender logs what somebody must see at warn and above, and the rest at debug', async () => {
  const log = recordLines('debug');
  await using day = await openBusyDay({ sender: { logger: log.logger } });
  await day.work();

  const told = new Map<string, number>();
  for (const { event, level } of log.lines()) {
    const kind = `${String(event)} ${String(level)}`;
    told.set(kind, (told.get(kind) ?? 0) + 1);
  }
  expect(Object.fromEntries(told)).toEqual({
    [`attempt ${numbers.debug}`]: 13,
    [`delivered ${numbers.debug}`]: 1,
    [`dead ${numbers.error}`]: 1,
    [`refused ${numbers.warn}`]: 1,
    [`endpointParked ${numbers.warn}`]: 1,
  });
  expect(log.lines().find(({ event }) => event === 'dead')).toEqual({
    level: 50,
    component: '@bestnotify/sender',
    event: 'dead',
    id: expect.stringMatching(/^ntf_/) as string,
    source: 'acme-pay',
    endpoint: 'merchant-42',
    type: 'payment.success',
    bizId: 'PAY2',
    subject: null,
    round: 1,
    reason: 'attempts-used-up',
    attempts: 1,
    msg: expect.stringMatching(
      /^DEAD payment\.success PAY2 to merchant-42 \(ntf_\S+\): attempts-used-up after 1 attempts$/,
    ) as string,
  });
  expect(log.texts.join('')).not.toMatch(/VISA-4111|whsec_|token=|out of stock/);
});

test('what a level leaves out is not even worded', async () => {
  const log = recordLines('warn');
  const child = log.logger.child({ component: 'ours' });
  let worded = 0;
  const counting: Logger = {
    debug: () => (worded += 1),
    info: () => (worded += 1),
    warn: (facts, message) => child.warn(facts, message),
    error: (facts, message) => child.error(facts, message),
    isLevelEnabled: (level) => child.isLevelEnabled(level),
  };
  await using day = await openBusyDay({ sender: { logger: counting }, receiver: { logger: counting } });
  await day.work();
  expect(worded).toBe(0);
  expect(
    log
      .lines()
      .map(({ event, reason }) => (event === 'answered' ? reason : event))
      .sort(),
  ).toEqual(['dead', 'endpointParked', 'handler-error', 'invalid-signature', 'refused']);
});

test('a fault that comes again and again is logged once in a while, without the parameters of a statement', async () => {
  const log = recordLines('debug');
  await using day = await openBusyDay({ sender: { logger: log.logger } });
  let calls = 0;
  day.outbox.sender.on('attempt', () => {
    calls += 1;
    throw Object.assign(new Error('Failed query: insert …\nparams: card VISA-4111'), {
      params: ['card VISA-4111'],
      code: 'XX000',
    });
  });
  await day.work();
  const errors = log.lines().filter(({ event }) => event === 'error');
  expect(calls).toBe(13);
  expect(errors).toEqual([
    {
      level: 50,
      component: '@bestnotify/sender',
      event: 'error',
      during: 'listener of attempt',
      error: {
        type: 'Error',
        code: 'XX000',
        message: 'Failed query: insert …',
        stack: expect.stringContaining('at ') as string,
      },
      msg: 'listener of attempt: Failed query: insert …',
    },
  ]);
});

test('a receiver logs each request that it answered, and never the body', async () => {
  const log = recordLines('debug');
  await using day = await openBusyDay({ receiver: { logger: log.logger } });
  await day.work();
  await day.receiver.handle({ method: 'GET', headers: {}, body: '' });

  expect(log.lines().map(({ level, reason, bizId, msg }) => ({ level, reason, bizId, msg }))).toEqual(
    expect.arrayContaining([
      {
        level: 20,
        reason: 'handled',
        bizId: 'PAY1',
        msg: expect.stringMatching(/^handled payment\.success PAY1 \(ntf_/) as string,
      },
      {
        level: 50,
        reason: 'handler-error',
        bizId: 'PAY2',
        msg: expect.stringMatching(/^handler-error .*: out of stock$/) as string,
      },
      {
        level: 40,
        reason: 'invalid-signature',
        bizId: undefined,
        msg: expect.stringMatching(/^invalid-signature: /) as string,
      },
      { level: 40, reason: 'method-not-allowed', bizId: undefined, msg: 'method-not-allowed' },
    ]) as unknown,
  );
  expect(log.lines().every(({ component }) => component === '@bestnotify/receiver')).toBe(true);
  expect(log.texts.join('')).not.toMatch(/VISA-4111|whsec_|token=|v1,/);
});

test('the warnings of a receiver go to its logger, unless somebody else takes them', () => {
  const log = recordLines('debug');
  const options = {
    source: 'acme-pay',
    to: 'm',
    secrets: 'a secret of the profile body-hmac alone',
    profile: 'body-hmac',
    store: memoryStore(),
    handler: () => undefined,
  } as const;
  createReceiver({ ...options, logger: log.logger });
  expect(log.lines()).toMatchObject([{ level: 40, event: 'warning', code: 'RECEIVER_REPLAYABLE_PROFILE' }]);
  const told: string[] = [];
  createReceiver({ ...options, logger: log.logger, onWarning: ({ code }) => told.push(code) });
  expect([log.lines().length, told]).toEqual([1, ['RECEIVER_REPLAYABLE_PROFILE']]);
});

test('a logger that throws hurts neither a delivery nor a request', async () => {
  const fail = () => {
    throw new Error('disk full');
  };
  const logger: Logger = { debug: fail, info: fail, warn: fail, error: fail };
  await using day = await openBusyDay({ sender: { logger }, receiver: { logger } });
  const delivered: string[] = [];
  day.outbox.sender.on('delivered', ({ bizId }) => delivered.push(bizId));
  await day.work();
  expect(delivered).toEqual(['PAY1']);
  expect(day.receiver.stats().replies).toMatchObject({ handled: 1, 'handler-error': 1 });
});

test('what is no logger is refused', () => {
  const logger = { info: () => undefined } as unknown as Logger;
  expect(() => createSender({ source: 'acme-pay', database: 'postgres://127.0.0.1/none', logger })).toThrow(
    ConfigurationError,
  );
  expect(() => createReceiver({ source: 'a', to: 'm', secrets: 'x', store: memoryStore(), logger })).toThrow(
    ReceiverConfigurationError,
  );
});
