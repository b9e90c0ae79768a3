import { createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

/** What one bad receiver does, and how its reply has to be judged. */
export interface Behaviour {
  /** Case ids first, then what the receiver does. */
  name: string;
  /** Called once a whole request has been read, or as soon as `when` says. */
  run: (socket: Socket) => void | Promise<void>;
  when?: 'connected' | 'head';
  /** Kind and reason: `delivered:acknowledged`, `retry:wrong-reply`, `dead:gone`; a pattern where the kernel decides. */
  verdict: string | RegExp;
  ack?: string;
  hint?: RegExp;
  error?: RegExp;
  notBeforeMs?: number;
  endpointNotBeforeMs?: number;
  alert?: 'first' | 'each';
  /** What counts towards parking the endpoint. */
  counts?: boolean;
  /** Bytes that the attempt log must hold. */
  snippet?: RegExp;
  /** Only the deadline ends it. */
  isSlow?: boolean;
  /** Size of the request body; a large one does not fit into the socket's buffers. */
  bodyBytes?: number;
}

/** A receiver made of bare sockets: what it sends need not be HTTP. */
export interface TortureServer {
  readonly port: number;
  /** Requests whose first line has arrived. */
  readonly requests: number;
  readonly openSockets: number;
  /** Reads what is left on its sockets: one that does not read does not notice that the other side has gone. */
  readRest(): void;
  close(): Promise<void>;
}

export async function startTorture(behaviour: Behaviour): Promise<TortureServer> {
  const sockets = new Set<Socket>();
  let requests = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    if (behaviour.when === 'connected') {
      void behaviour.run(socket);
      if (behaviour.isSlow !== true) socket.resume();
      return;
    }
    let received = Buffer.alloc(0);
    let hasRun = false;
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      for (let head = readHead(received); head !== undefined; head = readHead(received)) {
        const isWhole = received.length >= head.endsAt;
        if (!hasRun && (isWhole || behaviour.when === 'head')) {
          hasRun = true;
          requests += 1;
          void behaviour.run(socket);
        }
        if (!isWhole) return;
        received = received.subarray(head.endsAt);
        hasRun = false;
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get requests() {
      return requests;
    },
    get openSockets() {
      return sockets.size;
    },
    readRest: () => {
      for (const socket of sockets) socket.resume();
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}

function readHead(bytes: Buffer): { endsAt: number } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, end))?.[1] ?? '0';
  return { endsAt: end + 4 + Number(length) };
}

/** A whole reply with the length its body has. */
export function reply(status: number | string, body: string | Buffer = '', headers: readonly string[] = []): Buffer {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  return Buffer.concat([head(status, [`Content-Length: ${bytes.length}`, ...headers]), bytes]);
}

/** Status line and headers, one character a byte. */
export function head(status: number | string, headers: readonly string[] = []): Buffer {
  const line = typeof status === 'number' ? `HTTP/1.1 ${status} Whatever` : status;
  return Buffer.from([line, ...headers, '', ''].join('\r\n'), 'latin1');
}

/** Sends the parts with pauses, again and again if `forever`, until the other side has gone. */
export async function drip(
  socket: Socket,
  parts: readonly (string | Buffer)[],
  { everyMs, forever = false }: { everyMs: number; forever?: boolean },
): Promise<void> {
  do {
    for (const part of parts) {
      if (socket.destroyed) return;
      socket.write(part);
      await wait(everyMs);
    }
  } while (forever);
}

/** Sends one chunk for ever, as fast as it is taken. */
export async function flood(socket: Socket, chunk: Buffer): Promise<void> {
  const closed = new Promise((resolve) => socket.once('close', resolve));
  while (!socket.destroyed) {
    if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
}
