import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** One request as it came in. */
export interface RecordedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** When its head had been read, on the clock of `performance.now()`. */
  readonly startedAtMs: number;
}

/** One reply of a script. */
export interface ScriptedReply {
  /** @default 200 */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default 'success' for a 2xx status, 'fail' for any other */
  readonly body?: string | Uint8Array;
  /** How long the reply is kept back, in ms. @default 0 */
  readonly delayMs?: number;
}

/** Answers by hand. It may leave the request without an answer, or destroy `response.socket`. */
export type ReplyFunction = (request: RecordedRequest, response: ServerResponse) => void | Promise<void>;

/** A status with its proper word, a body for a 200, a whole reply, or a function. */
export type Step = number | string | ScriptedReply | ReplyFunction;

/** A merchant's server for a platform's own tests. */
export interface ScriptedEndpoint extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/notify`; endpoints that use it need `allowHttp` and `allowPrivateNetwork`. */
  readonly url: string;
  readonly port: number;
  /** Every request whose body has come in, in that order. */
  readonly requests: readonly RecordedRequest[];
  /** How many TCP connections were made to it. */
  readonly connections: number;
  /** The most requests that were unanswered at one moment. */
  readonly mostInFlight: number;
  /**
   * Waits until `count` requests have come in, and returns them all.
   *
   * @param timeoutMs - Default 10 s.
   * @throws Error when that passes first.
   */
  received(count: number, timeoutMs?: number): Promise<readonly RecordedRequest[]>;
  /** Replaces what is left of the script. */
  script(...steps: readonly [Step, ...Step[]]): void;
  /** Refuses connections, and resets those that are open. */
  goDown(): Promise<void>;
  /** Listens again, on the same port. */
  comeUp(): Promise<void>;
}

/** Keeps the request open and never answers. */
export const hang: ReplyFunction = () => undefined;

/** Resets the connection after the whole request was read: it may have been handled. */
export const reset: ReplyFunction = (_request, response) => {
  response.socket?.resetAndDestroy();
};

/** Writes bytes of its own making instead of an HTTP reply, and ends the connection. */
export function rawReply(bytes: string | Uint8Array): ReplyFunction {
  return (_request, response) => {
    response.socket?.end(bytes);
  };
}

/**
 * A real HTTP server on a free port of 127.0.0.1 that answers each request by the next step; the last step is for all that follow.
 *
 * `scriptedEndpoint(500, 'SUCCESS!', 200)` fails once, then sends a near miss, and from then on acknowledges.
 */
export async function scriptedEndpoint(...script: readonly [Step, ...Step[]]): Promise<ScriptedEndpoint> {
  let steps: readonly Step[] = script;
  let connections = 0;
  let inFlight = 0;
  let mostInFlight = 0;
  const requests = createRecord();
  const sockets = new Set<Socket>();

  const answer = async (message: IncomingMessage, response: ServerResponse) => {
    mostInFlight = Math.max(mostInFlight, ++inFlight);
    response.once('close', () => inFlight--);
    const request = await read(message);
    const [step = 200, ...rest] = steps;
    if (rest.length > 0) steps = rest;
    requests.add(request);
    await reply(step, request, response);
  };
  const server = createServer((message, response) => {
    answer(message, response).catch(() => response.socket?.destroy()); // the client went away, or the script threw
  });
  server.on('connection', (socket) => {
    connections++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  };
  const goDown = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.resetAndDestroy();
    await closed;
  };

  await listen(0);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/notify`,
    port,
    requests: requests.all,
    get connections() {
      return connections;
    },
    get mostInFlight() {
      return mostInFlight;
    },
    received: (count, timeoutMs = 10_000) => requests.reach(count, timeoutMs),
    script(...next) {
      steps = next;
    },
    goDown,
    comeUp: () => listen(port),
    [Symbol.asyncDispose]: goDown,
  };
}

function createRecord() {
  const all: RecordedRequest[] = [];
  const waiting = new Set<() => void>();
  return {
    all,
    add(request: RecordedRequest): void {
      all.push(request);
      for (const look of waiting) look();
    },
    reach(count: number, timeoutMs: number): Promise<readonly RecordedRequest[]> {
      return new Promise((resolve, reject) => {
        const end = () => {
          clearTimeout(timer);
          waiting.delete(look);
        };
        const look = () => {
          if (all.length < count) return;
          end();
          resolve(all);
        };
        const timer = setTimeout(() => {
          end();
          reject(new Error(`${all.length} of ${count} requests came in within ${timeoutMs} ms.`));
        }, timeoutMs);
        waiting.add(look);
        look();
      });
    },
  };
}

async function read(message: IncomingMessage): Promise<RecordedRequest> {
  const startedAtMs = performance.now();
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  const { method = '', url: path = '', headers, rawHeaders } = message;
  return { method, path, headers, rawHeaders, body: Buffer.concat(chunks), startedAtMs };
}

async function reply(step: Step, request: RecordedRequest, response: ServerResponse): Promise<void> {
  if (typeof step === 'function') return step(request, response);
  const given = typeof step === 'number' ? { status: step } : typeof step === 'string' ? { body: step } : step;
  const { status = 200, headers = {}, delayMs = 0 }: ScriptedReply = given;
  const { body = status >= 200 && status < 300 ? 'success' : 'fail' }: ScriptedReply = given;
  if (delayMs > 0) await pause(delayMs);
  response.writeHead(status, { 'content-type': 'text/plain', ...headers });
  response.end(body);
}
