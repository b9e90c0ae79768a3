import type { NotificationFacts, Sender } from '@bestnotify/sender';
import type { RequestHandler } from 'express';
import type { Timeline } from './timeline.js';

/** Tells what goes through the merchant's door: each request as it comes, each answer as it leaves. */
export function narrateMerchantDoor(timeline: Timeline, nameOf: (id: string) => string): RequestHandler {
  return (req, res, next) => {
    const id = req.get('webhook-id');
    if (id !== undefined) {
      const attempt = req.get('bestnotify-attempt') ?? '?';
      timeline.says('platform', 'merchant', `${req.get('x-event-type') ?? ''} ${nameOf(id)}, attempt ${attempt}`);
      res.on('finish', () => {
        const reason = String(res.getHeader('bestnotify-reason'));
        timeline.says('merchant', 'platform', `${res.statusCode} ${replyWord(res.statusCode)} (${reason})`);
      });
    }
    next();
  };
}

/** Tells what the sender's workers have written down. */
export function narrateSender(timeline: Timeline, sender: Sender): void {
  sender.on('attempt', (attempt) => {
    const what = `${attempt.type} ${attempt.bizId}, attempt ${attempt.ordinal ?? '-'}`;
    // What did not come through the merchant's door is told here.
    if (attempt.outcome === 'not-sent') timeline.says('platform', 'merchant', `${what}: not sent (${attempt.because})`);
    if (attempt.outcome === 'no-answer') timeline.does('platform', `hears nothing about ${attempt.bizId}`);
    if (attempt.nextInMs !== null) {
      timeline.does('platform', `will send ${attempt.bizId} again in ${(attempt.nextInMs / 1000).toFixed(1)} s`);
    }
  });
  sender.on('delivered', (settled) =>
    timeline.does('platform', `records ${settled.bizId} as delivered (${settled.reason})${roundOf(settled)}`),
  );
  sender.on('dead', (settled) =>
    timeline.does('platform', `gives ${settled.bizId} up as dead (${settled.reason}) and calls an operator`),
  );
  sender.on('error', ({ during, error }) =>
    timeline.does('platform', `has trouble during ${during}: ${String(error)}`),
  );
}

function replyWord(status: number): string {
  return status === 200 ? 'success' : 'fail';
}

function roundOf({ round }: NotificationFacts): string {
  return round === 1 ? '' : `, in round ${round}`;
}
