import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuse, type Answer } from './answer.js';
import { answerError } from './answer-error.js';
import type { Call } from './api/call.js';
import { isFromOurPage } from './csrf.js';
import { checkAccess, checkOptions, type Access, type ConsoleOptions } from './options.js';
import { answerFile, readPageFiles } from './page-files.js';
import { readBody } from './read-body.js';
import { bodyInput, queryInput } from './read-input.js';
import { matchRoutes, type Route } from './routes.js';
import { writeAnswer } from './write-answer.js';

/** A handler for `app.use` of Express 4 and 5, of connect, or for a plain `http` server. It answers every request itself. */
export type ConsoleHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  next?: (error?: unknown) => void,
) => void;

/**
 * The console: an API and the page that uses it, under whatever path it is mounted at.
 *
 * @throws {@link ConfigurationError} without a sender or without `authorize`.
 */
export function createConsole(given: ConsoleOptions): ConsoleHandler {
  const options = checkOptions(given);
  let files: ReturnType<typeof readPageFiles> | undefined;
  const answer = async (request: IncomingMessage): Promise<Answer> => {
    const access = await options.authorize(request);
    if (access === undefined) return unauthorized(options.challenge);
    const { pathname, searchParams } = new URL(`http://console${targetOf(request)}`);
    const found = matchRoutes(pathname);
    if (found.length > 0) return answerRoute(found, { request, access: checkAccess(access), options, searchParams });
    if (pathname.startsWith('/api/')) return refuse(404, { error: 'not-found', message: 'There is no such route.' });
    if (request.method !== 'GET' && request.method !== 'HEAD') return wrongMethod(['GET']);
    checkAccess(access);
    const redirect = pathname === '/' ? toFolder(request) : undefined;
    if (redirect !== undefined) return redirect;
    files ??= readPageFiles();
    const file = files.get(pathname);
    if (file === undefined) return refuse(404, { error: 'not-found', message: 'There is no such page.' });
    return answerFile(pathname, file);
  };
  return (request, response) => {
    void answer(request)
      .catch((error: unknown) => answerError(error, options.onError))
      .then((ready) => writeAnswer(request, response, ready))
      .catch((error: unknown) => {
        options.onError(error);
        response.destroy();
      });
  };
}

async function answerRoute(
  found: readonly { route: Route; id: string; number: string }[],
  parts: Pick<Call, 'request' | 'access' | 'options'> & { searchParams: URLSearchParams },
): Promise<Answer> {
  const { request, access, options, searchParams } = parts;
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const match = found.find(({ route }) => route.method === method);
  if (match === undefined) return wrongMethod(found.map(({ route }) => route.method));
  const { route, id, number } = match;
  if (!isAllowed(access, route)) {
    return refuse(403, { error: 'forbidden', message: `The role ${access.role} does not allow this.` });
  }
  if (route.method === 'POST' && !isFromOurPage(request, options.origins)) {
    return refuse(403, { error: 'csrf', message: 'This did not come from the console page. Reload it and try again.' });
  }
  const input = route.method === 'POST' ? bodyInput(await readBody(request)) : queryInput(searchParams);
  return route.answer({ request, access, options, id, number, input });
}

function isAllowed({ role }: Access, { needs }: Route): boolean {
  return role === 'operator' || needs === 'view' || (role === 'reader' && needs === 'bodies');
}

function unauthorized(challenge: string | undefined): Answer {
  const answer = refuse(401, { error: 'unauthorized', message: 'Sign in first.' });
  return challenge === undefined
    ? answer
    : { ...answer, headers: { ...answer.headers, 'www-authenticate': challenge } };
}

function wrongMethod(allowed: readonly string[]): Answer {
  const answer = refuse(405, { error: 'method', message: `Only ${allowed.join(', ')} is possible here.` });
  return { ...answer, headers: { ...answer.headers, allow: allowed.join(', ') } };
}

/** The path below the place of mounting, and the query. */
function targetOf({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') ? url : `/${url}`;
}

/** `/ops` becomes `/ops/`: the page names its files relative to a folder. Only the last part is sent, so it leads nowhere else. */
function toFolder(request: IncomingMessage & { originalUrl?: string }): Answer | undefined {
  const [path = ''] = (request.originalUrl ?? '').split('?');
  const last = path.split('/').at(-1) ?? '';
  return last === '' ? undefined : { status: 302, headers: { location: `./${last}/` } };
}
