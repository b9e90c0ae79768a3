import { expect, test } from 'vitest';
import { leaseGrowthMs, scheduleNext, unchargedDelayMs, type Failure } from '../src/rules/backoff.js';
import {
  attemptsOf,
  checkOwnPolicies,
  decodePolicy,
  encodePolicy,
  giveUpAgeMs,
  nextGapMs,
  presetNames,
  resolvePolicy,
  type PolicyRule,
} from '../src/rules/policies.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** A failure with nothing special about it. */
function failure(facts: Partial<Failure> = {}): Failure {
  return { policy: decodePolicy('alipay'), attemptsMade: 1, ageMs: 0, random: 0, ...facts };
}

/** Sends by the schedule alone until it ends: the gaps between them, and why it ended. */
function walk(facts: Partial<Failure> = {}) {
  const gapsMs: number[] = [];
  for (let attemptsMade = 1, ageMs = 0; ; attemptsMade += 1) {
    const next = scheduleNext(failure({ ...facts, attemptsMade, ageMs }));
    if (next.kind === 'dead') {
      return { gapsMs, sends: attemptsMade, because: next.because };
    }
    gapsMs.push(next.delayMs);
    ageMs += next.delayMs;
  }
}

const schedules: Record<string, number[]> = {
  alipay: [4 * minute, 10 * minute, 10 * minute, hour, 2 * hour, 6 * hour, 15 * hour],
  wechat: [15, 15, 30, 180, 600, 1200, 1800, 1800, 1800, 3600, 10800, 10800, 10800, 21600, 21600].map(
    (s) => s * second,
  ),
  'standard-webhooks': [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400].map((s) => s * second),
  article: [10 * second, minute, 10 * minute, hour],
  exponential: [5, 25, 125, 625, 720, 720, 720, 720, 720].map((m) => m * minute),
};

test('there are the five presets, and nobody added one without a schedule here', () => {
  expect([...presetNames].sort()).toEqual(Object.keys(schedules).sort());
});

test.each(Object.entries(schedules))('R142 %s sends at once and then after exactly its gaps', (name, gapsMs) => {
  const walked = walk({ policy: decodePolicy(name) });
  expect(walked).toEqual({ gapsMs, sends: gapsMs.length + 1, because: 'attempts-used-up' });
});

test('R142 every preset but the short one goes on for at least a day', () => {
  for (const name of presetNames.filter((each) => each !== 'article')) {
    expect(walk({ policy: decodePolicy(name) }).gapsMs.reduce((sum, gapMs) => sum + gapMs)).toBeGreaterThan(day);
  }
});

test('R137 R139 the last allowed failure is final, the one before it is not', () => {
  const policy = decodePolicy('article');
  expect(scheduleNext(failure({ policy, attemptsMade: 4 }))).toMatchObject({ kind: 'retry', last: true });
  expect(scheduleNext(failure({ policy, attemptsMade: 3 }))).toMatchObject({ kind: 'retry', last: false });
  expect(scheduleNext(failure({ policy, attemptsMade: 5 }))).toEqual({ kind: 'dead', because: 'attempts-used-up' });
  expect(scheduleNext(failure({ policy, attemptsMade: 1, maxAttempts: 1 }))).toMatchObject({ kind: 'dead' });
});

test('a larger maxAttempts repeats the last gap, a smaller one cuts', () => {
  const policy = decodePolicy('article');
  expect(walk({ policy, maxAttempts: 7 }).gapsMs.slice(3)).toEqual([hour, hour, hour]);
  expect(walk({ policy, maxAttempts: 3 }).gapsMs).toEqual([10 * second, minute]);
  expect(attemptsOf(policy)).toBe(5);
});

test('R136 jitter only adds, at most a tenth, and spreads rows that failed in one second', () => {
  const gapMs = 10 * minute;
  const delays = Array.from({ length: 10_000 }, (_, i) => {
    const next = scheduleNext(failure({ attemptsMade: 2, random: i / 10_000 }));
    return next.kind === 'retry' ? next.delayMs : Number.NaN;
  });
  expect(Math.min(...delays)).toBe(gapMs);
  expect(Math.max(...delays)).toBeLessThanOrEqual(gapMs * 1.1);
  const perSecond = new Map<number, number>();
  for (const delay of delays) {
    perSecond.set(Math.floor(delay / second), (perSecond.get(Math.floor(delay / second)) ?? 0) + 1);
  }
  expect(Math.max(...perSecond.values())).toBeLessThan(200);
});

test('retry-after is a floor: it lengthens a short gap and never shortens a long one', () => {
  const policy = decodePolicy('article');
  expect(scheduleNext(failure({ policy, notBeforeMs: 30_000 }))).toMatchObject({ delayMs: 30_000 });
  expect(scheduleNext(failure({ policy, notBeforeMs: 9_999 }))).toMatchObject({ delayMs: 10_000 });
});

test('a floor beyond the give-up moment moves the last attempt to that moment', () => {
  const policy = resolvePolicy({ gapsMs: [second, second, second], giveUpAgeMs: minute });
  const next = scheduleNext(failure({ policy, ageMs: 20_000, notBeforeMs: hour }));
  expect(next).toEqual({ kind: 'retry', delayMs: 40_000, last: true });
  expect(scheduleNext(failure({ policy, attemptsMade: 2, ageMs: minute }))).toEqual({
    kind: 'dead',
    because: 'gave-up-by-age',
  });
  expect(scheduleNext(failure({ policy, attemptsMade: 2, ageMs: minute - 1 }))).toMatchObject({ kind: 'retry' });
});

test('the give-up age is 1.25 times the gaps, at least 1 h and at most 6 days', () => {
  expect(giveUpAgeMs(decodePolicy('alipay'))).toBe(1.25 * (24 * hour + 24 * minute));
  expect(giveUpAgeMs(decodePolicy('alipay'), 100)).toBe(6 * day);
  expect(giveUpAgeMs(resolvePolicy({ gapsMs: [100, 200] }))).toBe(hour);
  expect(giveUpAgeMs(resolvePolicy({ gapsMs: [100], giveUpAgeMs: 500 }))).toBe(500);
});

const absurd = [2_147_483_648, 9_986_935_433, Number.POSITIVE_INFINITY, Number.NaN, -1];

test.each(absurd)('R131 a floor of %d never gives a delay outside the give-up age', (notBeforeMs) => {
  const next = scheduleNext(failure({ notBeforeMs }));
  expect(next.kind).toBe('retry');
  if (next.kind === 'retry') {
    expect(next.delayMs).toBeGreaterThanOrEqual(4 * minute);
    expect(next.delayMs).toBeLessThan(2 ** 31);
  }
});

test.each(absurd)('R131 a random of %d stays within the tenth', (random) => {
  const next = scheduleNext(failure({ random }));
  expect(next.kind === 'retry' && next.delayMs >= 4 * minute && next.delayMs <= 4.4 * minute).toBe(true);
});

test('R131 R137 counts and ages that are not numbers end a row instead of repeating it for ever', () => {
  expect(scheduleNext(failure({ attemptsMade: Number.NaN })).kind).toBe('dead');
  expect(scheduleNext(failure({ ageMs: Number.NaN })).kind).toBe('dead');
  expect(scheduleNext(failure({ ageMs: Number.POSITIVE_INFINITY })).kind).toBe('dead');
  expect(scheduleNext(failure({ ageMs: -5 })).kind).toBe('retry');
  expect(walk({ maxAttempts: Number.NaN }).sends).toBe(8);
});

test('R145 gaps are durations: the schedule is the same in every time zone', () => {
  const before = process.env['TZ'];
  const walks = ['America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata'].map((zone) => {
    process.env['TZ'] = zone;
    return walk({ policy: decodePolicy('wechat') });
  });
  process.env['TZ'] = before ?? 'UTC';
  expect(walks[1]).toEqual(walks[0]);
  expect(walks[2]).toEqual(walks[0]);
});

test('what is not charged waits 10 s doubling to 10 min', () => {
  expect([0, 1, 2, 5, 6, 1e9, Number.NaN, -1].map(unchargedDelayMs)).toEqual([
    10_000, 20_000, 40_000, 320_000, 600_000, 600_000, 10_000, 10_000,
  ]);
});

test('a lease grows by 30 s doubling to 1 h after claims that were lost', () => {
  expect([0, 1, 2, 7, 8, 99, Number.NaN].map(leaseGrowthMs)).toEqual([
    0, 30_000, 60_000, 1_920_000, 3_600_000, 3_600_000, 0,
  ]);
});

test('a preset is stored as its name, an own policy as JSON that needs no registry', () => {
  const own = { fast: { gapsMs: [100, 200] }, exp: { baseMs: 100, factor: 2, capMs: 350, attempts: 5 } };
  expect(encodePolicy('wechat')).toBe('wechat');
  expect(encodePolicy(resolvePolicy('wechat', own))).toBe('wechat');
  expect(encodePolicy(resolvePolicy('fast', own))).toBe('{"gapsMs":[100,200]}');
  expect(decodePolicy(encodePolicy(resolvePolicy('exp', own))).gapsMs).toEqual([100, 200, 350, 350]);
  expect(decodePolicy(encodePolicy({ gapsMs: [1], giveUpAgeMs: 9 })).giveUpAgeMs).toBe(9);
  expect(nextGapMs(decodePolicy('{"gapsMs":[100,200]}'), 9)).toBe(200);
});

test.each([null, 'from-a-newer-version', '{"gapsMs":[]}', '{', 'null', '{"gapsMs":{"length":2}}', '__proto__'])(
  'a stored text of %j means the default policy, never a crashed worker',
  (text) => {
    expect(decodePolicy(text)).toBe(decodePolicy('alipay'));
  },
);

test.each<[PolicyRule, string]>([
  [{ gapsMs: [] }, 'policies.own.gapsMs'],
  [{ gapsMs: [1000, Number.NaN] }, 'policies.own.gapsMs[1]'],
  [{ gapsMs: [0] }, 'policies.own.gapsMs[0]'],
  [{ gapsMs: [6 * day + 1] }, 'policies.own.gapsMs[0]'],
  [{ gapsMs: [1000], giveUpAgeMs: 7 * day }, 'policies.own.giveUpAgeMs'],
  [{ baseMs: 0, factor: 2, capMs: 10, attempts: 3 }, 'policies.own.baseMs'],
  [{ baseMs: 1, factor: 0.5, capMs: 10, attempts: 3 }, 'policies.own.factor'],
  [{ baseMs: 1, factor: 2, capMs: Number.POSITIVE_INFINITY, attempts: 3 }, 'policies.own.capMs'],
  [{ baseMs: 1, factor: 2, capMs: 10, attempts: 1 }, 'policies.own.attempts'],
  [{ baseMs: 1, factor: 2, capMs: 10, attempts: 1001 }, 'policies.own.attempts'],
])('the own policy %j is refused and the option %s is named', (rule, option) => {
  expect(() => {
    checkOwnPolicies({ own: rule });
  }).toThrow(expect.objectContaining({ code: 'SENDER_CONFIGURATION', option }));
});

test('an unknown name lists the known ones; a preset cannot be redefined', () => {
  expect(() => resolvePolicy('slow', { fast: { gapsMs: [1] } })).toThrow(/"slow".*alipay.*fast.*createSender/);
  expect(() => resolvePolicy('toString')).toThrow(expect.objectContaining({ option: 'policy' }));
  expect(() => {
    checkOwnPolicies({ alipay: { gapsMs: [1] } });
  }).toThrow(expect.objectContaining({ option: 'policies.alipay' }));
});
