import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to PostgreSQL that a test can break. */
export interface Proxy extends AsyncDisposable {
  /** The database's URL through the proxy. */
  readonly url: string;
  /** From now on the connections that are open carry nothing any more, in either direction, and never end: half-open. New ones work. */
  silenceOpen(): void;
  /** The next connection whose client sends this text falls silent with it. */
  silenceAt(text: string): void;
  /** From now on a connection is reset as soon as its client sends this text. */
  resetAt(text: string): void;
  /** Connections that are open are reset, and new ones refused. */
  goDown(): Promise<void>;
  comeUp(): Promise<void>;
}

interface Pair {
  client: Socket;
  server: Socket;
  isSilent: boolean;
}

export async function proxyTo(databaseUrl: string): Promise<Proxy> {
  const target = new URL(databaseUrl);
  const pairs = new Set<Pair>();
  let lastWords: string | undefined;
  let silentWords: string | undefined;
  const listener = createServer((client) => {
    const server = connect({ host: target.hostname, port: Number(target.port || 5432) });
    const pair: Pair = { client, server, isSilent: false };
    pairs.add(pair);
    const end = () => {
      if (pair.isSilent) return; // nobody hears of it
      pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    client.on('data', (bytes: Buffer) => {
      if (silentWords !== undefined && bytes.includes(silentWords)) {
        silentWords = undefined;
        pair.isSilent = true;
      }
      if (lastWords !== undefined && bytes.includes(lastWords)) client.resetAndDestroy();
      else if (!pair.isSilent) server.write(bytes);
    });
    server.on('data', (bytes: Buffer) => {
      if (!pair.isSilent) client.write(bytes);
    });
    for (const socket of [client, server]) socket.on('error', () => undefined).on('close', end);
  });
  const listen = async (port: number) => {
    listener.listen(port, '127.0.0.1');
    await once(listener, 'listening');
  };
  const resetAll = () => {
    for (const { client, server } of pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
    pairs.clear();
  };
  const goDown = async () => {
    if (!listener.listening) return;
    const closed = once(listener, 'close');
    listener.close();
    resetAll();
    await closed;
  };
  await listen(0);
  const { port } = listener.address() as AddressInfo;
  const url = new URL(target);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.href,
    silenceOpen() {
      for (const pair of pairs) pair.isSilent = true;
    },
    silenceAt(text) {
      silentWords = text;
    },
    resetAt(text) {
      lastWords = text;
    },
    goDown,
    comeUp: () => listen(port),
    [Symbol.asyncDispose]: goDown,
  };
}
