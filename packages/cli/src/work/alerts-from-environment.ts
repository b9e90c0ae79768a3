import type { AlertChannel, AlertsOptions, SenderOptions } from '@bestnotify/sender';
import { UsageError } from '../errors.js';

type Environment = Readonly<Record<string, string | undefined>>;

const prefix = 'BESTNOTIFY_ALERT_';

/**
 * The alerts that the environment asks for, beside those of the configuration file: the URLs of chat robots are secrets,
 * and no argument holds one.
 *
 * @throws {@link UsageError} for a variable that needs another one.
 */
export function alertsFromEnvironment(env: Environment, configured?: AlertsOptions): Pick<SenderOptions, 'alerts'> {
  const channels: Record<string, AlertChannel> = {};
  for (const kind of ['slack', 'wecom', 'dingtalk', 'feishu'] as const) {
    const url = read(env, kind);
    const secret = read(env, `${kind}_secret`);
    if (url === undefined) continue;
    channels[kind] = {
      ...{ kind, ...urlOptions(url) },
      ...((kind === 'dingtalk' || kind === 'feishu') && secret !== undefined && { secret }),
    };
  }
  const webhook = read(env, 'webhook');
  if (webhook !== undefined) {
    channels['webhook'] = { kind: 'webhook', ...urlOptions(webhook), secret: needed(env, 'webhook_secret', 'webhook') };
  }
  const to = read(env, 'email');
  if (to !== undefined) channels['email'] = { kind: 'email', to: to.split(/[\s,]+/).filter(Boolean) };
  const locale = read(env, 'locale');
  const heartbeat = env['BESTNOTIFY_HEARTBEAT_URL'] || undefined;
  if (Object.keys(channels).length === 0 && heartbeat === undefined) return {};
  return {
    alerts: {
      ...configured,
      channels: { ...configured?.channels, ...channels },
      ...(to !== undefined && { email: { smtp: needed(env, 'smtp', 'email'), from: needed(env, 'from', 'email') } }),
      ...(locale !== undefined && { locale: locale as NonNullable<AlertsOptions['locale']> }),
      ...(heartbeat !== undefined && { heartbeat: { ...configured?.heartbeat, ...urlOptions(heartbeat) } }),
    },
  };
}

/** The operator's own systems may be near: what the sender may call at all is said by its own option. */
function urlOptions(url: string) {
  return { url, allowHttp: url.startsWith('http:'), allowPrivateNetwork: true };
}

/** An empty variable is how shells and compose files leave one out. */
function read(env: Environment, name: string): string | undefined {
  return env[`${prefix}${name.toUpperCase()}`] || undefined;
}

function needed(env: Environment, name: string, by: string): string {
  const value = read(env, name);
  if (value !== undefined) return value;
  const [option, other] = [name, by].map((each) => `${prefix}${each.toUpperCase()}`);
  throw new UsageError({ option: String(option), problem: `is missing, and ${String(other)} needs it` });
}
