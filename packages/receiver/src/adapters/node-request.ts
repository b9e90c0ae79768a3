import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { startDeadline } from '../deadline.js';
import type { BodyLimits, BodyProblem, BodyProblemReport, ReceiverReply } from '../notification.js';
import type { Receiver } from '../receiver.js';

/** Node's request, with what frameworks and other parsers may have left on it. */
export type NodeRequest = IncomingMessage & { body?: unknown; rawBody?: unknown };

/** Fits `app.post(path, …)` of Express 4 and 5. It never calls `next` and never throws. */
export type ExpressHandler = (req: IncomingMessage, res: ServerResponse, next?: unknown) => void;

/** Reads, answers, and never rejects: the whole of every adapter over Node's own `http`. */
export async function answerNode(receiver: Receiver, req: NodeRequest, res: ServerResponse): Promise<void> {
  const reply = await receiver.handle({
    method: req.method,
    headers: new NodeHeaders(req),
    body: (limits) => readNodeBody(req, limits),
  });
  writeNode(reply, req, res);
}

/** Node has put every name in lower case and joined what came twice, so one look is enough where any object needs a search. */
export class NodeHeaders {
  #headers: IncomingHttpHeaders | undefined;

  constructor(private readonly req: IncomingMessage) {}

  get(name: string): string | null {
    // Node makes this object when it is asked for it.
    const value = (this.#headers ??= this.req.headers)[name];
    return typeof value === 'string' ? value : (value?.join(', ') ?? null);
  }
}

/** Gets the raw bytes, once, or says why it cannot. */
export function readNodeBody(req: NodeRequest, limits: BodyLimits): Promise<Buffer | BodyProblemReport> {
  // What a platform or our captureRawBody kept; a string there was decoded by a guess and is not taken.
  if (Buffer.isBuffer(req.rawBody)) return Promise.resolve(req.rawBody);
  if (Buffer.isBuffer(req.body)) return Promise.resolve(req.body);
  if (req.readableDidRead || req.readableEnded || req.destroyed)
    return Promise.resolve({ problem: 'raw-body-missing' });
  return readStream(req, limits);
}

function readStream(
  req: IncomingMessage,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
): Promise<Buffer | BodyProblemReport> {
  return new Promise((resolve) => {
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let sizeBytes = 0;
    let isOver = false;
    const stop = (problem: BodyProblem): void => {
      if (isOver) return;
      isOver = true;
      deadline.stop();
      req.off('data', onData).pause();
      resolve({ problem });
    };
    const onData = (chunk: Buffer): void => {
      sizeBytes += chunk.byteLength;
      if (sizeBytes > maxBodyBytes) stop('too-large');
      else if (first === undefined) first = chunk;
      else (more ??= [first]).push(chunk);
    };
    const deadline = startDeadline(bodyTimeoutMs, () => stop('body-timeout'));
    req.on('data', onData);
    req.on('end', () => {
      // Promised bytes that a bridge has already taken: the stream is there, but empty.
      if (first === undefined && Number(req.headers['content-length'] ?? 0) > 0) stop('raw-body-missing');
      if (isOver) return;
      isOver = true;
      deadline.stop();
      resolve(more === undefined ? (first ?? Buffer.alloc(0)) : Buffer.concat(more, sizeBytes));
    });
    // Nobody is left to read the reply to a broken request; it is counted as what it is, an incomplete body. Node tells of the
    // reset itself only to those who listen for errors, so this is enough.
    req.on('close', () => stop('body-timeout'));
  });
}

function ignoreError(): void {
  // The reply already says what went wrong.
}

/** Writes the reply, and makes sure that an unfinished upload neither blocks it nor goes on for ever. */
export function writeNode(reply: ReceiverReply, req: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent || res.destroyed) return;
  if (!req.complete) {
    res.setHeader('connection', 'close');
    boundLeftover(req, res);
  }
  // As text, because Node writes head and text in one piece, but head and bytes in two. Latin-1 keeps every byte as it is.
  res.writeHead(reply.status, reply.headers).end(reply.body.toString('latin1'), 'latin1');
}

const leftoverBytes = 1024 * 1024;
const leftoverMs = 1_000;

/** A sender in the middle of its upload reads the reply only if its bytes are taken meanwhile: some, for a moment, then no more. */
function boundLeftover(req: IncomingMessage, res: ServerResponse): void {
  let sizeBytes = 0;
  const cut = (): void => {
    clearTimeout(timer);
    req.destroy();
  };
  const timer = setTimeout(cut, leftoverMs);
  req.on('data', (chunk: Buffer) => {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > leftoverBytes) cut();
  });
  req.once('close', () => clearTimeout(timer));
  req.on('error', ignoreError);
  res.on('error', ignoreError);
  req.resume();
}
