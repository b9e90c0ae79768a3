import { PassThrough } from 'node:stream';
import type { BulkProgress, BulkRun, NotificationFilter, ResendManyOptions } from '@bestnotify/sender';
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
import type { RunShape } from '../shapes.js';
import { actionOf, limitsOf, type Call } from './call.js';

/**
 * Resends many settled notifications: those a filter names, or those with the ids in it.
 *
 * A dry run answers what would be resent. Otherwise the answer is a line of JSON after each batch, until it is finished;
 * the work goes on if nobody reads them. With `resume` it goes on with a run that was interrupted.
 */
export async function bulkResend(call: Call): Promise<Answer> {
  if (call.input['resume'] !== undefined) return resumeRun(call);
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
  return progressOf(call, (onProgress) => operations.resendMany(filter, { ...options, onProgress }));
}

/** Runs that are under way, here or elsewhere, or were interrupted. */
export async function listRuns(call: Call): Promise<Answer> {
  onlyMembers(call.input, []);
  const items = await call.options.sender.operations.bulkRuns(limitsOf(call));
  return json({ items: items.map(runShape) });
}

/** Ends a run where it is. */
export async function stopRun(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['note']);
  await call.options.sender.operations.stopBulkRun(call.id, actionOf(call, textMember(call.input, 'note')));
  return listRuns({ ...call, input: {} });
}

function runShape({ filter, beganAt, ...run }: BulkRun): RunShape {
  const { ids, endpoints: _, since, until, ...rest } = filter;
  const moments = { since: since?.toISOString(), until: until?.toISOString() };
  return { ...run, filter: { ...rest, ...moments }, chosen: ids?.length ?? null, beganAt: beganAt.toISOString() };
}

async function resumeRun(call: Call): Promise<Answer> {
  onlyMembers(call.input, ['resume', 'note']);
  const resume = textMember(call.input, 'resume') ?? '';
  const { operations } = call.options.sender;
  const runs = await operations.bulkRuns(limitsOf(call));
  if (!runs.some(({ run }) => run === resume)) {
    throw new BadInput('That run is finished, or there is none of that number.', 404, 'not-found');
  }
  const action = actionOf(call, textMember(call.input, 'note'));
  return progressOf(call, (onProgress) => operations.resendMany({}, { ...action, resume, onProgress }));
}

function progressOf(call: Call, work: (onProgress: (progress: BulkProgress) => void) => Promise<BulkProgress>): Answer {
  const lines = linesOf(work, (error) => answerError(error, call.options.onError));
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
