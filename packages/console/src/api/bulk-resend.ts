import { PassThrough } from 'node:stream';
import type { BulkProgress, NotificationFilter, ResendManyOptions } from '@bestnotify/sender';
import { BadInput, json, type Answer } from '../answer.js';
import { answerError } from '../answer-error.js';
import {
  bodyInput,
  filterMembers,
  filterOf,
  flagMember,
  numberMember,
  onlyMembers,
  textMember,
} from '../read-input.js';
import { actionOf, limitsOf, type Call } from './call.js';

/**
 * Resends many settled notifications: those a filter names, or those with the ids in it.
 *
 * A dry run answers what would be resent. Otherwise the answer is a line of JSON after each batch, until it is finished;
 * the work goes on if nobody reads them.
 */
export async function bulkResend(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['filter', 'dryRun', 'perSecond', 'acceptDuplicateEffect', 'note']);
  const given = bodyInput(call.input['filter']);
  onlyMembers(given, filterMembers);
  const filter: NotificationFilter = { ...filterOf(given), ...limitsOf(call) };
  if (filter.state === undefined || filter.state === 'pending') {
    throw new BadInput('Member filter.state must name a settled state: dead, delivered, cancelled or closed.');
  }
  const perSecond = numberMember(call.input, 'perSecond', { min: 0.1, max: 10_000 });
  const { endpoints: _, ...action } = actionOf(call, textMember(call.input, 'note'));
  const options: ResendManyOptions = {
    ...action,
    acceptDuplicateEffect: flagMember(call.input, 'acceptDuplicateEffect'),
    ...(perSecond !== undefined && { perSecond }),
  };
  const { operations } = call.options.sender;
  if (flagMember(call.input, 'dryRun')) return json(await operations.resendMany(filter, { ...options, dryRun: true }));
  const lines = linesOf(
    (onProgress) => operations.resendMany(filter, { ...options, onProgress }),
    (error) => answerError(error, call.options.onError),
  );
  return { status: 200, headers: { 'content-type': 'application/x-ndjson; charset=utf-8' }, lines };
}

/** Progress as it comes; what goes wrong half-way is the last line. */
async function* linesOf(
  work: (onProgress: (progress: BulkProgress) => void) => Promise<BulkProgress>,
  answerOf: (error: unknown) => Answer,
): AsyncGenerator<object> {
  const lines = new PassThrough({ objectMode: true, highWaterMark: 1_000 });
  void work((progress) => void lines.write(progress))
    .catch((error: unknown) => void lines.write(JSON.parse(String(answerOf(error).body))))
    .finally(() => lines.end());
  for await (const line of lines) yield line as object;
}
