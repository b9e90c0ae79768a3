import { ConfigurationError } from '../errors.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The receiver forgets an id after 7 days, so nothing is repeated after 6. */
const longestGiveUpAgeMs = 6 * 24 * hour;
/** Attempts take time themselves: without a floor, a policy with gaps of a second would end by age after its first timeout. */
const shortestDefaultGiveUpAgeMs = hour;
export const maxAttemptsLimit = 1000;

/** A retry policy as a list: the gaps after an immediate first attempt. */
export interface GapsRule {
  /** Gap after attempt 1, 2, … in ms; attempts = gaps + 1. */
  gapsMs: readonly number[];
  /** Age since the first charged attempt at which a failure is final, in ms, at most 6 days. @default 1.25 × the sum of the gaps, at least 1 h */
  giveUpAgeMs?: number;
}

/** A retry policy as a rule: gap n is `baseMs × factorⁿ⁻¹`, never above `capMs`. */
export interface ExponentialRule {
  baseMs: number;
  factor: number;
  capMs: number;
  /** All attempts, the immediate first one included. */
  attempts: number;
  giveUpAgeMs?: number;
}

export type PolicyRule = GapsRule | ExponentialRule;

/** A policy ready for use. `text` is what a row stores: a worker needs no registry to read it back. */
export interface Policy {
  readonly text: string;
  readonly gapsMs: readonly number[];
  readonly giveUpAgeMs: number | undefined;
}

const presetRules = {
  alipay: { gapsMs: [4 * minute, 10 * minute, 10 * minute, hour, 2 * hour, 6 * hour, 15 * hour] },
  wechat: {
    gapsMs: [
      ...[15 * second, 15 * second, 30 * second, 3 * minute, 10 * minute, 20 * minute],
      ...[30 * minute, 30 * minute, 30 * minute, hour, 3 * hour, 3 * hour, 3 * hour, 6 * hour, 6 * hour],
    ],
  },
  'standard-webhooks': {
    gapsMs: [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour],
  },
  article: { gapsMs: [10 * second, minute, 10 * minute, hour] },
  exponential: { baseMs: 5 * minute, factor: 5, capMs: 12 * hour, attempts: 10 },
} satisfies Record<string, PolicyRule>;

export type PresetName = keyof typeof presetRules;
export const presetNames = Object.keys(presetRules) as readonly PresetName[];
export const defaultPolicyName: PresetName = 'alipay';

const presets = new Map<string, Policy>(
  presetNames.map((name) => [name, Object.freeze({ ...compile(presetRules[name], name), text: name })]),
);

/**
 * The policy that a caller means: a preset, one of the platform's own by name, or a rule written in place.
 *
 * @param option - how messages name the place that gave it.
 * @throws {@link ConfigurationError} if there is no such policy or its numbers cannot work.
 */
export function resolvePolicy(
  given: string | PolicyRule,
  own: Readonly<Record<string, PolicyRule>> = {},
  option = 'policy',
): Policy {
  if (typeof given !== 'string') {
    return compile(given, option);
  }
  const rule = Object.hasOwn(own, given) ? own[given] : undefined;
  const policy = presets.get(given) ?? (rule && compile(rule, `policies.${given}`));
  if (policy === undefined) {
    const known = [...presetNames, ...Object.keys(own)].join(', ');
    throw new ConfigurationError({
      option,
      problem: `names the unknown policy ${JSON.stringify(given)}`,
      fix: `Use one of ${known}, or add it to createSender({ policies }).`,
    });
  }
  return policy;
}

/** @throws {@link ConfigurationError} naming the first of the platform's own policies that cannot work. */
export function checkOwnPolicies(own: Readonly<Record<string, PolicyRule>>): void {
  for (const [name, rule] of Object.entries(own)) {
    if (presets.has(name)) {
      throw new ConfigurationError({
        option: `policies.${name}`,
        problem: 'has the name of a preset',
        fix: 'Choose another name: a preset means the same everywhere.',
      });
    }
    compile(rule, `policies.${name}`);
  }
}

/** What a row stores: a preset stays its name, any other policy becomes compact JSON. */
export function encodePolicy(policy: Policy | PolicyRule | PresetName): string {
  return typeof policy === 'object' && 'text' in policy ? policy.text : resolvePolicy(policy).text;
}

const decoded = new Map<string, Policy>();

/**
 * Reads what {@link encodePolicy} wrote; `null` is the default.
 *
 * A text that cannot be read (edited by hand, or of a newer version) means the default policy: a row is never lost over it.
 */
export function decodePolicy(text: string | null): Policy {
  const name = text ?? defaultPolicyName;
  const known = presets.get(name) ?? decoded.get(name);
  if (known !== undefined) {
    return known;
  }
  if (decoded.size >= 1000) {
    decoded.clear();
  }
  const policy = parse(name);
  decoded.set(name, policy);
  return policy;
}

function parse(text: string): Policy {
  try {
    return compile(JSON.parse(text) as PolicyRule, 'policy');
  } catch {
    return presets.get(defaultPolicyName) as Policy;
  }
}

/** Attempts of a whole round: `maxAttempts` when given, else gaps + 1. */
export function attemptsOf(policy: Policy, maxAttempts?: number | null): number {
  return isCount(maxAttempts) ? maxAttempts : policy.gapsMs.length + 1;
}

/** The gap after `attemptsMade` attempts, without jitter; past the end of the list its last gap repeats. */
export function nextGapMs(policy: Policy, attemptsMade: number): number {
  return policy.gapsMs[Math.min(attemptsMade, policy.gapsMs.length) - 1] ?? policy.gapsMs[0] ?? minute;
}

/** Age since the first charged attempt at which a failure is final, in ms. */
export function giveUpAgeMs(policy: Policy, maxAttempts?: number | null): number {
  if (policy.giveUpAgeMs !== undefined) {
    return policy.giveUpAgeMs;
  }
  const gaps = attemptsOf(policy, maxAttempts) - 1;
  const listed = policy.gapsMs.slice(0, gaps).reduce((sum, gapMs) => sum + gapMs, 0);
  const repeated = Math.max(0, gaps - policy.gapsMs.length) * nextGapMs(policy, gaps);
  return Math.min(Math.max(Math.round(1.25 * (listed + repeated)), shortestDefaultGiveUpAgeMs), longestGiveUpAgeMs);
}

function compile(rule: PolicyRule, option: string): Policy {
  if (typeof rule !== 'object' || (rule as PolicyRule | null) === null) {
    throw new ConfigurationError({ option, problem: 'is not a policy', fix: 'Give { gapsMs: [60_000, 300_000] }.' });
  }
  const gapsMs = 'gapsMs' in rule ? checkedGaps(rule.gapsMs, option) : expand(rule, option);
  if (rule.giveUpAgeMs !== undefined) {
    checkDuration(rule.giveUpAgeMs, `${option}.giveUpAgeMs`);
  }
  return Object.freeze({ text: compact(rule), gapsMs: Object.freeze(gapsMs), giveUpAgeMs: rule.giveUpAgeMs });
}

/** Only the members that mean something, always in one order: equal policies have equal texts. */
function compact(rule: PolicyRule): string {
  const { giveUpAgeMs: age } = rule;
  if ('gapsMs' in rule) {
    return JSON.stringify({ gapsMs: rule.gapsMs, giveUpAgeMs: age });
  }
  const { baseMs, factor, capMs, attempts } = rule;
  return JSON.stringify({ baseMs, factor, capMs, attempts, giveUpAgeMs: age });
}

function checkedGaps(gapsMs: readonly number[], option: string): number[] {
  if (!Array.isArray(gapsMs) || gapsMs.length === 0 || gapsMs.length >= maxAttemptsLimit) {
    throw new ConfigurationError({
      option: `${option}.gapsMs`,
      problem: `must list 1 to ${maxAttemptsLimit - 1} gaps`,
      fix: 'For a single attempt give maxAttempts: 1.',
    });
  }
  return gapsMs.map((gapMs, index) => checkDuration(gapMs as number, `${option}.gapsMs[${index}]`));
}

function expand(rule: ExponentialRule, option: string): number[] {
  checkDuration(rule.baseMs, `${option}.baseMs`);
  checkDuration(rule.capMs, `${option}.capMs`);
  if (!(Number.isFinite(rule.factor) && rule.factor >= 1)) {
    throw new ConfigurationError({ option: `${option}.factor`, problem: 'must be a number of at least 1' });
  }
  if (!isCount(rule.attempts) || rule.attempts < 2) {
    throw new ConfigurationError({
      option: `${option}.attempts`,
      problem: `must be a whole number from 2 to ${maxAttemptsLimit}`,
      fix: 'For a single attempt give maxAttempts: 1.',
    });
  }
  // factor ** n may reach Infinity; the cap brings it back.
  return Array.from({ length: rule.attempts - 1 }, (_, n) => Math.min(rule.baseMs * rule.factor ** n, rule.capMs));
}

function checkDuration(ms: number, option: string): number {
  if (!(Number.isFinite(ms) && ms >= 1 && ms <= longestGiveUpAgeMs)) {
    throw new ConfigurationError({
      option,
      problem: `must be a number of ms from 1 to ${longestGiveUpAgeMs} (6 days: the receiver forgets an id after 7)`,
    });
  }
  return ms;
}

function isCount(value: number | null | undefined): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxAttemptsLimit;
}
