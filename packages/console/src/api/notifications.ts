import type { AttemptSummary, ListFilter, NotificationDetails } from '@bestnotify/sender';
import { BadInput, download, json, type Answer } from '../answer.js';
import { curlScript } from '../curl-script.js';
import { describeUrl } from '../describe-url.js';
import { filterMembers, filterOf, numberMember, onlyMembers, textMember } from '../read-input.js';
import type { AttemptShape } from '../shapes.js';
import { limitsOf, seesBodies, type Call } from './call.js';

const idPattern = /^ntf_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A page of notifications. `q` is an id, a business id or a subject. */
export async function listNotifications(call: Call): Promise<Answer> {
  onlyMembers(call.input, [...filterMembers.filter((name) => name !== 'ids'), 'q', 'after', 'limit']);
  const query = textMember(call.input, 'q')?.trim();
  // Ids are printable ASCII without spaces: nothing else can be found, and that is no mistake of the one who looks.
  if (query !== undefined && !/^[\x21-\x7e]{0,128}$/.test(query)) return json({ items: [], next: null });
  const after = textMember(call.input, 'after');
  const limit = numberMember(call.input, 'limit', { min: 1, max: 200 });
  const filter: ListFilter = {
    ...filterOf(call.input),
    ...(query !== undefined &&
      query !== '' &&
      (idPattern.test(query) ? { ids: [query.toLowerCase()] } : { search: query })),
    ...(after !== undefined && { after }),
    ...(limit !== undefined && { limit: Math.floor(limit) }),
    ...limitsOf(call),
  };
  return json(await call.options.sender.operations.list(filter));
}

/** All that is known of one notification, less what the role does not show. */
export async function showNotification(call: Call): Promise<Answer> {
  const details = await call.options.sender.operations.show(call.id, limitsOf(call));
  const endpoint = await call.options.sender.endpoints.get(details.endpoint);
  const { body: stored, sentBody, hasOwnHeaders: _, attemptLog, url, ...rest } = details;
  const body = sentBody ?? stored;
  const sees = seesBodies(call);
  const target = url ?? endpoint?.url ?? null;
  return json({
    ...rest,
    url: target === null ? null : describeUrl(target),
    isOwnUrl: url !== null,
    bodyBase64: sees ? (body?.toString('base64') ?? null) : null,
    bodyBytes: body?.length ?? null,
    isErased: body === null,
    curl: sees ? curlScript(details, endpoint) : null,
    attemptLog: attemptLog.map((attempt) => attemptShape(attempt, sees)),
  });
}

function attemptShape({ snippet, startedAt, ...attempt }: AttemptSummary, sees: boolean): AttemptShape {
  return {
    ...attempt,
    startedAt: startedAt.toISOString(),
    snippetBase64: sees ? (snippet?.toString('base64') ?? null) : null,
  };
}

/** The bytes of the body as it is sent, to keep. */
export async function downloadBody(call: Call): Promise<Answer> {
  const { id, body: stored, sentBody } = await show(call);
  const body = sentBody ?? stored;
  if (body === null) throw new BadInput(`The body of ${id} has been erased.`, 404, 'not-found');
  return download(body, `${id}.body`);
}

/** What is kept of the reply to one attempt, counted from 1. */
export async function downloadReply(call: Call): Promise<Answer> {
  const { id, attemptLog } = await show(call);
  const snippet = /^\d{1,6}$/.test(call.number) ? attemptLog[Number(call.number) - 1]?.snippet : undefined;
  if (!snippet) throw new BadInput(`${id} has no reply kept under that number.`, 404, 'not-found');
  return download(snippet, `${id}.reply-${call.number}.txt`);
}

function show(call: Call): Promise<NotificationDetails> {
  return call.options.sender.operations.show(call.id, limitsOf(call));
}
