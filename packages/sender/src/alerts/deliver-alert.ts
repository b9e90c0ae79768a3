import { headerNames, parseSigningKey, signNotification } from '@bestnotify/protocol';
import type { ComposedRequest } from '../worker/compose-request.js';
import type { Deliverer } from '../worker/deliver.js';
import type { Outcome } from '../worker/outcome.js';
import { alertType, type Alert } from './alert.js';
import type { AlertChannel, StoredChannel, WebhookChannel } from './alert-channel.js';
import { alertText, testText, type AlertLocale, type AlertText } from './alert-words.js';
import type { EmailOptions } from './alerts-options.js';
import { formatChat } from './format-alert.js';
import { hideSecrets, passwordsOf, secretsOf } from './hide-secrets.js';
import { sendEmail } from './send-email.js';

/**
 * Under this name the settings of a channel come with its request, from where headers of endpoints are kept sealed. It is
 * no legal header name, so no endpoint can have it and nothing could send it.
 */
export const channelHeader = ':bestnotify-channel';

/** The settings that a request to a channel brings. */
export interface ChannelSettings {
  name: string;
  channel: StoredChannel;
}

/** What this process can do beside HTTP. */
export interface AlertMeans {
  channels: Readonly<Record<string, AlertChannel>>;
  email: EmailOptions | undefined;
  locale: AlertLocale;
  requestTimeoutMs: number;
}

/** A deliverer that also knows alert channels: chat robots get their own format, mails and functions are no HTTP at all. */
export function deliverAlerts(inner: Deliverer, means: AlertMeans): Deliverer {
  return {
    deliver: (request, options = {}) => {
      const settings = request.headers[channelHeader];
      return settings === undefined
        ? inner.deliver(request, options)
        : deliverAlert({ inner, means }, request, JSON.parse(settings) as ChannelSettings, options.signal);
    },
    close: () => inner.close(),
  };
}

async function deliverAlert(
  { inner, means }: { inner: Deliverer; means: AlertMeans },
  request: ComposedRequest,
  { name, channel }: ChannelSettings,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { locale = means.locale } = channel;
  const id = request.headers[headerNames.id] ?? '';
  switch (channel.kind) {
    case 'webhook': {
      const outcome = await inner.deliver(signedAnew(request, channel), { ...(signal && { signal }) });
      return hideSecrets(outcome, secretsOf(channel));
    }
    case 'email': {
      const { email, requestTimeoutMs: timeoutMs } = means;
      if (email === undefined) return notHere('the option alerts.email, which says how e-mail goes out');
      const work = () => sendEmail({ id, text: textOf(request, locale), channel, email, timeoutMs });
      return hideSecrets(await outcomeOf(work, { timeoutMs, signal }), passwordsOf(email.smtp));
    }
    case 'function': {
      const own = Object.hasOwn(means.channels, name) ? means.channels[name] : undefined;
      if (own?.kind !== 'function') return notHere(`a function for the alert channel ${name}`);
      const alert = alertOf(request);
      if (alert === undefined)
        return { kind: 'no-answer', error: 'a test is no alert, which is all that the function takes', durationMs: 0 };
      const text = textOf(request, locale);
      const work = async (stop: AbortSignal) => {
        await own.send(alert, { id, text, signal: stop });
      };
      return outcomeOf(work, { timeoutMs: means.requestTimeoutMs, signal });
    }
    case 'slack':
    case 'dingtalk':
    case 'wecom':
    case 'feishu': {
      const timestampSeconds = Number(request.headers[headerNames.timestamp]);
      const { url, body } = formatChat(channel, textOf(request, locale), timestampSeconds);
      const headers = { 'content-type': 'application/json; charset=utf-8', 'accept-encoding': 'identity' };
      const outcome = await inner.deliver({ ...request, url, body, headers }, { ...(signal && { signal }) });
      return hideSecrets(outcome, [...secretsOf(channel), ...secretsOf({ ...channel, url })]);
    }
    default:
      return channel satisfies never;
  }
}

/** The signature that came with it was made with a key that nobody has; the channel's own is in its settings. */
function signedAnew(request: ComposedRequest, { url, secret }: WebhookChannel): ComposedRequest {
  const { [channelHeader]: _, ...headers } = request.headers;
  const id = headers[headerNames.id] ?? '';
  const timestampSeconds = Number(headers[headerNames.timestamp]);
  const keys = [parseSigningKey(secret)];
  headers[headerNames.signature] = signNotification({ id, timestampSeconds, body: request.body, keys });
  return { ...request, url, headers };
}

interface AlertBody {
  source?: unknown;
  type?: unknown;
  data?: unknown;
}

/** Undefined for a test. Our own bytes, so they are read as they were written. */
function alertOf(request: ComposedRequest): Alert | undefined {
  const { type, data } = JSON.parse(request.body.toString('utf8')) as AlertBody;
  return type === alertType ? (data as Alert) : undefined;
}

function textOf(request: ComposedRequest, locale: AlertLocale): AlertText {
  const alert = alertOf(request);
  if (alert !== undefined) return alertText(alert, locale);
  const { source } = JSON.parse(request.body.toString('utf8')) as AlertBody;
  return testText(String(source), locale);
}

/** Another worker may have it; nothing is charged meanwhile. */
function notHere(what: string): Outcome {
  return { kind: 'internal', error: `this worker has not been given ${what}`, durationMs: 0 };
}

function done(startedAtMs: number): Outcome {
  return {
    kind: 'replied',
    status: 200,
    ...{ retryAfter: undefined, reason: undefined, location: undefined, contentLength: undefined },
    contentEncoding: undefined,
    body: Buffer.from('success'),
    truncated: false,
    durationMs: performance.now() - startedAtMs,
  };
}

/** What is no HTTP, in the words of what is. Never rejects, and never lasts longer than the deadline. */
async function outcomeOf(
  work: (signal: AbortSignal) => Promise<void>,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<Outcome> {
  const startedAtMs = performance.now();
  const durationMs = () => performance.now() - startedAtMs;
  if (signal?.aborted === true) return { kind: 'aborted', mayHaveArrived: false, durationMs: 0 };
  const stop = new AbortController();
  const stopped = new Promise<Outcome>((resolve) => {
    const end = (outcome: Outcome) => {
      resolve(outcome);
      stop.abort();
    };
    const timer = setTimeout(
      () => end({ kind: 'no-answer', error: `not done within ${timeoutMs} ms`, durationMs: durationMs() }),
      timeoutMs,
    );
    const abort = () => end({ kind: 'aborted', mayHaveArrived: true, durationMs: durationMs() });
    signal?.addEventListener('abort', abort, { once: true });
    stop.signal.addEventListener('abort', () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    });
  });
  const worked = (async (): Promise<Outcome> => {
    try {
      await work(stop.signal);
      return done(startedAtMs);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { kind: 'no-answer', error: text, durationMs: durationMs() };
    }
  })();
  const outcome = await Promise.race([worked, stopped]);
  stop.abort();
  return outcome;
}
