import { createConsole, type Access, type ConsoleOptions } from '@bestnotify/console';
import type { SenderOptions } from '@bestnotify/sender';
import express from 'express';
import express4 from 'express4';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { databases } from '../fixtures/databases.ts';
import { freshOutbox, type Outbox } from '../sender/fresh-outbox.ts';

/** Who may come in, by the name in the header `x-actor`. */
const people: Readonly<Record<string, Access>> = {
  vera: { actor: 'vera', role: 'viewer' },
  ruth: { actor: 'ruth', role: 'reader' },
  olga: { actor: 'olga', role: 'operator' },
  liam: { actor: 'liam', role: 'operator', endpoints: ['merchant-42'] },
};

/** One person's browser, as far as the API can tell. */
export interface Client {
  get(path: string, init?: RequestInit): Promise<Response>;
  getJson<T = Record<string, unknown>>(path: string): Promise<T>;
  post(path: string, body?: unknown, init?: RequestInit): Promise<Response>;
}

export interface ConsoleApp extends AsyncDisposable {
  readonly outbox: Outbox;
  /** Where the console is, with a slash at its end. */
  readonly url: string;
  readonly errors: unknown[];
  as(actor: string): Promise<Client>;
}

/** How a host may mount it. */
export const hosts: Readonly<Record<string, (handler: ReturnType<typeof createConsole>) => RequestListener>> = {
  'Express 5': (handler) => express().use('/ops', handler) as RequestListener,
  'Express 4': (handler) => express4().use('/ops', handler) as RequestListener,
  'Express behind express.json()': (handler) => express().use(express.json()).use('/ops', handler) as RequestListener,
};

/** A host with a console over tables of its own, on a real PostgreSQL. */
export async function consoleApp(
  options: Partial<ConsoleOptions> & { host?: string; sender?: never; senderOptions?: Partial<SenderOptions> } = {},
): Promise<ConsoleApp> {
  const { host = 'Express 5', senderOptions, ...rest } = options;
  const [postgres] = databases;
  const outbox = await freshOutbox(postgres!.open, senderOptions);
  const errors: unknown[] = [];
  const handler = createConsole({
    sender: outbox.sender,
    authorize: ({ headers }) => people[String(headers['x-actor'])],
    onError: (error) => errors.push(error),
    ...rest,
  });
  const server = createServer(hosts[host]!(handler)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ops/`;
  return {
    outbox,
    url,
    errors,
    as: (actor) => clientOf(url, actor),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await outbox[Symbol.asyncDispose]();
    },
  };
}

async function clientOf(url: string, actor: string): Promise<Client> {
  const session = await fetch(`${url}api/session`, { headers: { 'x-actor': actor } });
  const { csrfToken } = (await session.json()) as { csrfToken: string };
  const cookie = session.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  const get: Client['get'] = (path, init = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { 'x-actor': actor, cookie, ...(init.headers as object) } });
  return {
    get,
    getJson: async <T>(path: string) => (await get(path)).json() as Promise<T>,
    post: (path, body = {}, init = {}) =>
      fetch(`${url}${path}`, {
        method: 'POST',
        body: typeof body === 'string' ? body : JSON.stringify(body),
        ...init,
        headers: {
          'x-actor': actor,
          cookie,
          'content-type': 'application/json',
          'x-csrf-token': csrfToken,
          ...(init.headers as object),
        },
      }),
  };
}
