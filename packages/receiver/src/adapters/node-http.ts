import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Receiver } from '../receiver.js';
import { answerNode } from './node-request.js';

/** For `http.createServer(nodeHttpHandler(receiver))`, or a route of a server of your own. Never throws. */
export function nodeHttpHandler(receiver: Receiver): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => void answerNode(receiver, req, res);
}
