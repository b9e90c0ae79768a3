import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Receiver } from '../receiver.js';
import { answerNode, type ExpressHandler, type NodeRequest } from './node-request.js';

/** The receiver as a route handler; the same as `receiver.express()`. */
export function expressHandler(receiver: Receiver): ExpressHandler {
  return (req, res) => void answerNode(receiver, req, res);
}

/** For an app that must parse JSON first: `express.json({ verify: captureRawBody })` keeps the exact bytes for the receiver. */
export function captureRawBody(req: IncomingMessage, _res: ServerResponse, bytes: Buffer): void {
  (req as NodeRequest).rawBody = bytes;
}

export { idempotent, reply, verifySignature, type NotificationRequest } from './express-pieces.js';
export type { ExpressHandler } from './node-request.js';
