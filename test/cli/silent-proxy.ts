import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Stands before a server, and can stop forwarding without closing anything: a connection that was cut without a word. */
export interface SilentProxy extends AsyncDisposable {
  readonly port: number;
  /** From now on nothing passes, in either direction; new connections are taken and not served. */
  goSilent(): void;
  /** New connections are served again; the old ones stay silent. */
  speak(): void;
}

export async function silentProxy(target: { host: string; port: number }): Promise<SilentProxy> {
  let isSilent = false;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = isSilent ? undefined : connect(target);
    for (const socket of [near, far]) {
      if (socket === undefined) continue;
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    if (far === undefined) return;
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    goSilent() {
      isSilent = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    speak() {
      isSilent = false;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
