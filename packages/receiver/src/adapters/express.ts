import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Receiver } from '../receiver.js';
import { answerNode, type NodeRequest } from './node-request.js';

/** Fits `app.post(path, …)` of Express 4 and 5. It never calls `next` and never throws. */
export type ExpressHandler = (req: IncomingMessage, res: ServerResponse, next?: unknown) => void;

/** The receiver as a route handler; the same as `receiver.express()`. */
export function expressHandler(receiver: Receiver): ExpressHandler {
  return (req, res) => void answerNode(receiver, req, res);
}

/** For an app that must parse JSON first: `express.json({ verify: captureRawBody })` keeps the exact bytes for the receiver. */
export function captureRawBody(req: IncomingMessage, _res: ServerResponse, bytes: Buffer): void {
  (req as NodeRequest).rawBody = bytes;
}
