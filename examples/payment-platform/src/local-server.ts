import type { Express, RequestHandler } from 'express';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An app on a port of 127.0.0.1, which can go down and come back on that same port. */
export class LocalServer {
  #server: Server | undefined;
  #port: number | undefined;

  /** @param wantedPort - taken if it is free, else any other; 0 means any. */
  constructor(
    private readonly app: Express,
    private readonly wantedPort: number,
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.#port ?? this.wantedPort}`;
  }

  get isUp(): boolean {
    return this.#server !== undefined;
  }

  async goUp(): Promise<void> {
    if (this.#server !== undefined) return;
    const server =
      this.#port === undefined
        ? await listen(this.app, this.wantedPort).catch(() => listen(this.app, 0))
        : await listen(this.app, this.#port);
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  async goDown(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }
}

function listen(app: Express, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer(app);
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/** The road between the two companies. It can lose an answer: the work is done, and the platform does not hear of it. */
export class Road {
  #isLosingNext = false;

  constructor(private readonly onLost: () => void) {}

  loseNextAnswer(): void {
    this.#isLosingNext = true;
  }

  /** Goes in front of the merchant's app. */
  readonly middleware: RequestHandler = (req, res, next) => {
    if (this.#isLosingNext) {
      this.#isLosingNext = false;
      res.end = (() => {
        req.socket.destroy(); // instead of the bytes that `end` would send
        this.onLost();
        return res;
      }) as typeof res.end;
    }
    next();
  };
}
