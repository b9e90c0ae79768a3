import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler, HandlerContext, Notification } from '../notification.js';
import { processorKey } from '../processor-key.js';
import type { Answer } from '../processor.js';
import type { Receiver } from '../receiver.js';
import { NodeHeaders, readNodeBody, writeNode } from './node-request.js';
import type { Opened } from '../steps/open-notification.js';

/** What the pieces leave on the request for those after them. */
export interface NotificationRequest extends IncomingMessage {
  notification?: Notification;
  notificationContext?: HandlerContext;
}

type Next = (error?: unknown) => void;
type Middleware = (req: NotificationRequest, res: ServerResponse, next: Next) => void;
type ErrorMiddleware = (error: unknown, req: NotificationRequest, res: ServerResponse, next: Next) => void;

interface Piece {
  opened: Opened;
  /** Ends the run that `idempotent` started: with an error, or without. */
  end?: (error?: unknown) => void;
}

const pieces = new WeakMap<IncomingMessage, Piece>();

/** Reads the raw body, checks signature and audience, and sets `req.notification`. Refusals are answered here. */
export function verifySignature(receiver: Receiver): Middleware {
  const processor = receiver[processorKey];
  return (req, res, next) => {
    const opening = processor.open({
      method: req.method,
      headers: new NodeHeaders(req),
      body: (limits) => readNodeBody(req, limits),
    });
    opening.then(
      (opened) => {
        if ('refused' in opened) {
          writeNode(processor.reply({ reason: opened.refused, error: opened.error }), req, res);
          return;
        }
        pieces.set(req, { opened });
        req.notification = opened.notification;
        next();
      },
      (error: unknown) => writeNode(processor.reply({ reason: 'handler-error', error }), req, res),
    );
  };
}

/**
 * Claims the notification and lets only one run go on. Copies, conflicts and a store that is away are answered here. What follows
 * ends with {@link reply}; a response that bypasses it gives the claim back, and the event runs again.
 */
export function idempotent(receiver: Receiver): Middleware {
  const processor = receiver[processorKey];
  return (req, res, next) => {
    const piece = pieces.get(req);
    if (piece === undefined) {
      next(new Error('idempotent needs verifySignature before it on the same route'));
      return;
    }
    let isAnswered = false;
    const answer = (recorded: Answer): void => {
      isAnswered = true;
      writeNode(processor.reply({ ...recorded, opened: piece.opened }), req, res);
    };
    const rest: Handler = (_notification, context) => {
      req.notificationContext = context;
      return new Promise<void>((resolve, reject) => {
        piece.end = (error) => {
          if (error === undefined) resolve();
          else reject(error instanceof Error ? error : new Error('The route failed with something that is no Error'));
        };
        // Only a route that answers by itself is over. One whose sender hung up, or was answered at the deadline, may still be
        // making its effect: a copy must not run beside it.
        res.once('close', () => {
          if (res.writableEnded && !isAnswered)
            piece.end?.(new Error('The response was ended without reply(receiver)'));
        });
        next();
      });
    };
    const run = processor.run(piece.opened, processor.observed(rest, new NodeHeaders(req)));
    run.then(answer, (error: unknown) => answer({ reason: 'handler-error', error }));
  };
}

/**
 * The end of the route: records the outcome, and the word is written. Put it last; it takes the errors of the middleware before it.
 * After `verifySignature` alone it only writes the word.
 */
export function reply(receiver: Receiver): [Middleware, ErrorMiddleware] {
  const processor = receiver[processorKey];
  const finish = (req: NotificationRequest, res: ServerResponse, failure?: { error: unknown }): void => {
    const piece = pieces.get(req);
    if (piece?.end !== undefined) {
      piece.end(failure === undefined ? undefined : (failure.error ?? new Error('The route failed')));
      return;
    }
    const opened = piece === undefined ? {} : { opened: piece.opened };
    const isGenuine = piece !== undefined && failure === undefined;
    const outcome = isGenuine
      ? { reason: 'handled' as const }
      : { reason: 'handler-error' as const, error: failure?.error };
    writeNode(processor.reply({ ...outcome, ...opened }), req, res);
  };
  return [(req, res) => finish(req, res), (error, req, res, _next) => finish(req, res, { error })];
}
