import { parseSigningKey } from '@bestnotify/protocol';
import { ConfigurationError, EndpointUrlError } from '../errors.js';
import { checkEndpointUrl, type UrlRules } from '../rules/urls.js';
import type { Alert } from './alert.js';
import { alertLocales, type AlertLocale, type AlertText } from './alert-words.js';

/** What every channel may say. */
interface ChannelOptions {
  /** The language of its text. @default the alerts' own */
  locale?: AlertLocale;
}

/** A channel that is POSTed to, under the same rules as an endpoint. Its URL is a secret, and kept like one. */
interface UrlOptions extends ChannelOptions {
  url: string;
  /** @default false */
  allowHttp?: boolean;
  /** Private networks it may be in, as CIDRs, or `true` for all that the sender's own option allows. @default false */
  allowPrivateNetwork?: boolean | readonly string[];
}

/** A notification of type `bestnotify.alert`, signed as any other; its `data` is the {@link Alert}. */
export interface WebhookChannel extends UrlOptions {
  kind: 'webhook';
  /** `whsec_…` or `whsk_…`. */
  secret: string;
  /** What acknowledges. @default 'success' */
  ack?: 'success' | 'status' | 'json-code';
}

/** An incoming webhook of Slack, or of what speaks like it. */
export interface SlackChannel extends UrlOptions {
  kind: 'slack';
}

/** A custom robot of a DingTalk group. */
export interface DingTalkChannel extends UrlOptions {
  kind: 'dingtalk';
  /** `SEC…`, where the robot is set to check signatures. */
  secret?: string;
}

/** A robot of a WeCom group. */
export interface WeComChannel extends UrlOptions {
  kind: 'wecom';
}

/** A custom bot of a Feishu or Lark group. */
export interface FeishuChannel extends UrlOptions {
  kind: 'feishu';
  /** Where the bot is set to check signatures. */
  secret?: string;
}

/** E-mail, by the server in the option `alerts.email`. */
export interface EmailChannel extends ChannelOptions {
  kind: 'email';
  to: string | readonly string[];
}

/** Anything else, such as SMS. */
export interface FunctionChannel extends ChannelOptions {
  kind: 'function';
  /** Resolves once it has arrived; a throw is tried again later. `id` is the same each time. */
  send: (alert: Alert, call: { id: string; text: AlertText; signal: AbortSignal }) => unknown;
}

/** Where alerts go. */
export type AlertChannel =
  WebhookChannel | SlackChannel | DingTalkChannel | WeComChannel | FeishuChannel | EmailChannel | FunctionChannel;

/** Where a merchant's own people are told. A function cannot be stored. */
export type ContactChannel = Exclude<AlertChannel, FunctionChannel>;

/** A channel as it is stored, sealed like a secret; functions stay in the process that has them. */
export type StoredChannel = ContactChannel | { kind: 'function'; locale?: AlertLocale };

const kinds = [
  'webhook',
  'slack',
  'dingtalk',
  'wecom',
  'feishu',
  'email',
  'function',
] as const satisfies readonly AlertChannel['kind'][];

/** @throws {@link ConfigurationError} naming the option, and never a URL or a secret. */
export function checkChannel(
  channel: AlertChannel,
  option: string,
  urlRules: (endpointAllows: boolean | readonly string[]) => Pick<UrlRules, 'allowedPorts' | 'addresses'>,
): void {
  if (typeof channel !== 'object' || (channel as AlertChannel | null) === null || !kinds.includes(channel.kind)) {
    throw new ConfigurationError({ option, problem: `needs a kind: one of ${kinds.join(', ')}` });
  }
  if (channel.locale !== undefined) checkLocale(channel.locale, `${option}.locale`);
  if (channel.kind === 'function') {
    if (typeof channel.send !== 'function')
      throw new ConfigurationError({ option: `${option}.send`, problem: 'must be a function' });
    return;
  }
  if (channel.kind === 'email') {
    checkAddresses(channel.to, `${option}.to`);
    return;
  }
  checkUrl(channel, option, urlRules);
  if (channel.kind === 'webhook') checkWebhook(channel, option);
  else if ('secret' in channel && !isPlain(channel.secret)) {
    throw new ConfigurationError({ option: `${option}.secret`, problem: 'must be printable ASCII without spaces' });
  }
}

/** @throws {@link ConfigurationError} */
export function checkLocale(locale: string, option: string): void {
  if ((alertLocales as readonly string[]).includes(locale)) return;
  throw new ConfigurationError({ option, problem: `must be one of ${alertLocales.join(', ')}` });
}

/** @throws {@link ConfigurationError} unless it is one bare address, or a list of them. */
export function checkAddresses(to: string | readonly string[], option: string): void {
  const all: readonly string[] = typeof to === 'string' ? [to] : to;
  // A comma, an angle bracket or a line end would make one address several, or another header.
  const isAddress = (text: unknown) =>
    typeof text === 'string' &&
    text.length <= 254 &&
    /^[^\s\p{C}@<>,;:"()[\]\\]+@[^\s\p{C}@<>,;:"()[\]\\]+$/u.test(text);
  if (Array.isArray(all) && all.length > 0 && all.length <= 50 && all.every(isAddress)) return;
  throw new ConfigurationError({
    option,
    problem: 'must be an e-mail address, or a list of 1 to 50',
    fix: 'Write name@host alone.',
  });
}

function checkUrl(
  { url, allowHttp = false, allowPrivateNetwork = false }: UrlOptions,
  option: string,
  urlRules: Parameters<typeof checkChannel>[2],
): void {
  try {
    if (typeof url !== 'string') throw new EndpointUrlError({ problem: 'not-a-url', detail: 'It is missing.' });
    checkEndpointUrl(url, { allowHttp, ...urlRules(allowPrivateNetwork) });
  } catch (error) {
    if (!(error instanceof EndpointUrlError)) throw error;
    throw new ConfigurationError({
      option: `${option}.url`,
      problem: `cannot be used (${error.problem})`,
      fix: error.message,
    });
  }
}

function checkWebhook({ secret, ack = 'success' }: WebhookChannel, option: string): void {
  try {
    parseSigningKey(secret);
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : '';
    throw new ConfigurationError({ option: `${option}.secret`, problem: 'is no signing secret', fix: detail });
  }
  if (!['success', 'status', 'json-code'].includes(ack)) {
    throw new ConfigurationError({ option: `${option}.ack`, problem: "must be 'success', 'status' or 'json-code'" });
  }
}

function isPlain(secret: unknown): boolean {
  return secret === undefined || (typeof secret === 'string' && /^[\x21-\x7e]{1,256}$/.test(secret));
}
