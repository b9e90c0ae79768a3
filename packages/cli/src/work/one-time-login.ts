import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Who may see the console that this process serves: whoever opened the link it printed, first. */
export interface OneTimeLogin {
  /** Path and query of the link. It works once. */
  readonly path: string;
  isSignedIn(request: IncomingMessage): boolean;
  /** Answers the link. @returns false for every other request, which is then not answered. */
  answer(request: IncomingMessage, response: ServerResponse): boolean;
}

const cookieName = 'bestnotify-console';

/** The token and the session are random and live in this process alone: a restart signs everybody out. */
export function createOneTimeLogin(): OneTimeLogin {
  const session = randomBytes(32).toString('base64url');
  let token: string | undefined = randomBytes(32).toString('base64url');
  const path = `/login?token=${token}`;
  return {
    path,
    isSignedIn: ({ headers }) => {
      const given = (headers.cookie ?? '').split(';').map((cookie) => cookie.trim());
      return given.some((cookie) => isSame(cookie, `${cookieName}=${session}`));
    },
    answer: (request, response) => {
      const url = new URL(request.url ?? '/', 'http://console');
      if (url.pathname !== '/login') return false;
      response.setHeader('cache-control', 'no-store');
      response.setHeader('referrer-policy', 'no-referrer');
      if (request.method !== 'GET' || token === undefined || !isSame(url.searchParams.get('token') ?? '', token)) {
        const body = 'This link is not valid, or was used already. Start bestnotify console again for a new one.\n';
        response.writeHead(401, { 'content-type': 'text/plain' }).end(body);
        return true;
      }
      token = undefined;
      response
        .writeHead(303, { location: '/', 'set-cookie': `${cookieName}=${session}; HttpOnly; SameSite=Strict; Path=/` })
        .end();
      return true;
    },
  };
}

function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}
