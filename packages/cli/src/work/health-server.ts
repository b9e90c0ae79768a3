import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the server shows. */
export interface HealthSource {
  /** False answers 503. */
  isHealthy: () => boolean;
  facts: () => object;
  /** Answers `/metrics`. */
  metrics: RequestListener;
}

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

/** `/health` for a supervisor, `/metrics` for Prometheus. Nothing in either is secret, but it listens on loopback unless told otherwise. */
export async function startHealthServer(
  source: HealthSource,
  at: { port: number; host: string },
): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = (request.url ?? '').split('?')[0];
    if (request.method !== 'GET' && request.method !== 'HEAD')
      answer(response, 405, { type: 'text/plain', body: 'only GET\n' });
    else if (path === '/health') {
      const isHealthy = source.isHealthy();
      const body = `${JSON.stringify({ status: isHealthy ? 'ok' : 'failing', ...source.facts() })}\n`;
      answer(response, isHealthy ? 200 : 503, { type: 'application/json', body });
    } else if (path === '/metrics') source.metrics(request, response);
    else answer(response, 404, { type: 'text/plain', body: 'see /health and /metrics\n' });
  });
  server.listen(at.port, at.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function answer(response: ServerResponse, status: number, { type, body }: { type: string; body: string }): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
