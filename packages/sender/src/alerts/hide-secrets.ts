import type { Outcome } from '../worker/outcome.js';
import type { StoredChannel } from './alert-channel.js';

const removed = '[removed]';
/** Shorter parts of a path are words, not tokens: `services`, `open-apis`. */
const shortestToken = 12;

/** What of a channel must not be seen: tokens are in the path or the query of its URL. */
export function secretsOf(channel: StoredChannel): string[] {
  const secrets: string[] = [];
  if ('url' in channel) {
    const { pathname, search, searchParams } = new URL(channel.url);
    secrets.push(channel.url, pathname, pathname + search, ...pathname.split('/'), ...searchParams.values());
  }
  if ('secret' in channel) secrets.push(channel.secret);
  return secretsFrom(secrets, shortestToken);
}

/** Of a mail server's URL only the password is one. */
export function passwordsOf(smtp: string): string[] {
  const { password } = new URL(smtp);
  return secretsFrom([smtp, password, decoded(password)], 1);
}

/** An outcome without them: a reply may print the request back, and an error may name where it went. */
export function hideSecrets(outcome: Outcome, secrets: readonly string[]): Outcome {
  const hidden = { ...outcome };
  if ('error' in hidden) hidden.error = hide(hidden.error, secrets);
  if ('location' in hidden && hidden.location !== undefined) hidden.location = hide(hidden.location, secrets);
  if ('body' in hidden) {
    // Latin-1 maps bytes to characters one to one; the secrets are ASCII, or never match.
    hidden.body = Buffer.from(hide(hidden.body.toString('latin1'), secrets), 'latin1');
  }
  return hidden;
}

function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, removed), text);
}

/** The longest first, or a part of one would be removed and the rest of it stay. */
function secretsFrom(parts: readonly string[], shortest: number): string[] {
  const withEscapes = parts.flatMap((part) => [part, part.replaceAll('/', '\\/'), encodeURIComponent(part)]);
  return [...new Set(withEscapes)].filter((part) => part.length >= shortest).sort((a, b) => b.length - a.length);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
