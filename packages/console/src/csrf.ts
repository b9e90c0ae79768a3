import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/*
 * Three locks, each enough against a form on another site: a header that only a script of our own origin can send without
 * being asked first (CORS), its value equal to a cookie that no script can read, and what the browser itself says about
 * where the request comes from. No state is kept, so any number of processes may serve one console.
 */

const cookieName = 'bestnotify-csrf';
const csrfHeader = 'x-csrf-token';
const tokenPattern = /^[\w-]{43}$/;

/** The token of this browser and, if it has none yet, the cookie that gives it one. */
export function csrfToken(request: IncomingMessage): { token: string; cookie: string | undefined } {
  const known = cookieOf(request);
  if (known !== undefined) return { token: known, cookie: undefined };
  const token = randomBytes(32).toString('base64url');
  const secure = isSecure(request) ? '; Secure' : '';
  return { token, cookie: `${cookieName}=${token}; HttpOnly; SameSite=Strict${secure}` };
}

/** True if an action comes from our own page. */
export function isFromOurPage(request: IncomingMessage, origins: readonly string[]): boolean {
  const { origin, host } = request.headers;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  if (origin !== undefined && site === undefined && !origins.includes(origin) && hostOf(origin) !== host) return false;
  const cookie = cookieOf(request);
  const header = request.headers[csrfHeader];
  if (cookie === undefined || typeof header !== 'string' || header.length !== cookie.length) return false;
  return timingSafeEqual(Buffer.from(header), Buffer.from(cookie));
}

function cookieOf(request: IncomingMessage): string | undefined {
  const cookies = (request.headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
  const value = cookies.find((cookie) => cookie.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
  return value !== undefined && tokenPattern.test(value) ? value : undefined;
}

function isSecure(request: IncomingMessage & { secure?: boolean }): boolean {
  return request.secure === true || 'encrypted' in request.socket;
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}
