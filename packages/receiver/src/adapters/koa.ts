import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Receiver } from '../receiver.js';
import { answerNode } from './node-request.js';

/** For `router.all(path, koaMiddleware(receiver))`, before any body parser. Koa is told to keep its hands off the response. */
export function koaMiddleware(
  receiver: Receiver,
): (context: { req: IncomingMessage; res: ServerResponse; respond?: boolean }) => Promise<void> {
  return (context) => {
    context.respond = false;
    return answerNode(receiver, context.req, context.res);
  };
}
