import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { generateSecret } from '@bestnotify/protocol';
import { createReceiver, memoryStore, type Receiver, type ReceiverOptions } from '@bestnotify/receiver';
import { signedRequest, scriptedSender, type SignedRequestOptions } from '@bestnotify/receiver/testing';
import express from 'express';

export const source = 'acme-pay';
export const to = 'merchant-42';
export const secret = generateSecret();

/** A receiver with everything a test does not care about. */
export function receiverFor(options: Partial<ReceiverOptions> = {}): Receiver {
  return createReceiver({ source, to, secrets: secret, store: memoryStore(), onWarning: () => undefined, ...options });
}

export interface Listening extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

/** Any request listener on a free port. */
export async function listening(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}/notify`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The receiver on Express, as the README shows it. */
export function onExpress(receiver: Receiver): Promise<Listening> {
  const app = express();
  app.all('/notify', receiver.express());
  return listening(app);
}

export function senderTo(target: Receiver | string, options: { ack?: 'success' | 'json-code' } = {}) {
  return scriptedSender({ target, secret, source, to, ...options });
}

type Event = Omit<SignedRequestOptions['event'], 'source' | 'to'>;

/** A genuine request for the receiver above. */
export function genuine(event: Partial<Event> = {}, options: Partial<SignedRequestOptions> = {}) {
  return signedRequest({ secret, event: { source, to, type: 'payment.success', bizId: 'PAY1', ...event }, ...options });
}

/** What a test usually looks at: `200 success handled`. */
export function line(
  reply: { status: number; headers: Readonly<Record<string, string>>; body: Uint8Array } | undefined,
): string {
  if (reply === undefined) return 'no answer';
  return `${reply.status} ${Buffer.from(reply.body).toString()} ${reply.headers['bestnotify-reason'] ?? ''}`.trim();
}

export async function post(url: string, init: RequestInit): Promise<string> {
  const response = await fetch(url, { method: 'POST', ...init });
  return line({
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: new Uint8Array(await response.arrayBuffer()),
  });
}

/** Writes raw bytes to a server, in pieces, and returns all that came back before the connection ended. */
export async function rawExchange(port: number, pieces: readonly (string | Buffer)[], pauseMs = 0): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')));
  socket.on('error', () => undefined); // a server that has said enough may reset
  const closed = once(socket, 'close');
  for (const [i, piece] of pieces.entries()) {
    if (i > 0 && pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (!socket.destroyed) socket.write(piece);
  }
  await closed;
  return answer;
}

/** A genuine request as bytes on the wire. */
export function onTheWire(
  request: { headers: Record<string, string>; body: Buffer },
  extra = 'connection: close\r\n',
): [string, Buffer] {
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `POST /notify HTTP/1.1\r\nhost: x\r\n${headers.join('')}content-length: ${request.body.byteLength}\r\n${extra}\r\n`;
  return [head, request.body];
}

/** A promise and its ends. */
export function gate<T = void>() {
  let open!: (value: T) => void;
  let fail!: (error: Error) => void;
  const promise = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { promise, open, fail };
}
