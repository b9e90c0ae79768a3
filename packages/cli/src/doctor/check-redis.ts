import type { Redis } from 'ioredis';
import { describeError, type Finding } from './finding.js';

/** A receiver's store must not forget by itself: what it forgets runs again. */
export async function checkRedis(url: string): Promise<Finding[]> {
  const { Redis } = await import('ioredis'); // late: every other command starts without it
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: 5_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: unknown; // what the command says is only that the connection is closed
  redis.on('error', (error) => (reason = error));
  try {
    await redis.connect();
    const info = await redis.info('server');
    const version = /redis_version:(\S+)/.exec(info)?.[1] ?? 'unknown';
    return [versionFinding(version), ...(await policyFindings(redis))];
  } catch (error) {
    const next = 'Check REDIS_URL, the password and the network.';
    return [{ check: 'redis', result: 'fail', message: `cannot be asked: ${describeError(reason ?? error)}`, next }];
  } finally {
    redis.disconnect();
  }
}

function versionFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const isOld = major < 6 || (major === 6 && minor < 2);
  return {
    check: 'redis',
    result: isOld ? 'fail' : 'ok',
    message: `version ${version}`,
    ...(isOld && { next: 'Use Redis 6.2 or newer.' }),
  };
}

async function policyFindings(redis: Redis): Promise<Finding[]> {
  let settings: Record<string, string>;
  try {
    settings = await readSettings(redis);
  } catch (error) {
    const next = 'Ask your provider whether maxmemory-policy is noeviction.';
    return [{ check: 'redis', result: 'warn', message: `its settings cannot be read: ${describeError(error)}`, next }];
  }
  const { 'maxmemory-policy': policy = 'unknown', maxmemory = '0', appendonly = 'no', save = '' } = settings;
  const evicts = policy !== 'noeviction';
  const findings: Finding[] = [
    {
      check: 'redis',
      result: !evicts ? 'ok' : maxmemory === '0' ? 'warn' : 'fail',
      message: `maxmemory-policy ${policy}`,
      ...(evicts && { next: 'Set maxmemory-policy to noeviction: an evicted record lets an event run again.' }),
    },
  ];
  if (appendonly === 'no') {
    const message = save === '' ? 'nothing is written to disk' : 'only snapshots are written to disk';
    findings.push({
      check: 'redis',
      result: 'warn',
      message,
      next: 'Set appendonly to yes, or a restart lets recent events run again.',
    });
  }
  return findings;
}

async function readSettings(redis: Redis): Promise<Record<string, string>> {
  const settings: Record<string, string> = {};
  for (const name of ['maxmemory-policy', 'maxmemory', 'appendonly', 'save']) {
    const [, value] = (await redis.call('config', 'get', name)) as string[];
    if (value !== undefined) settings[name] = value;
  }
  return settings;
}
