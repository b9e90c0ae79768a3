import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createReceiver, type Notification, type Store } from '@bestnotify/receiver';
import express from 'express';
import { source } from '../sender/fresh-outbox.ts';

/** A merchant's shop on Express, as the README shows it; `money` is what its handler did. */
export interface Merchant extends AsyncDisposable {
  readonly url: string;
  readonly money: readonly string[];
  /** What was answered to each request, such as `200 success handled`. */
  readonly answers: readonly string[];
  /** Is called before the handler does anything; it may throw. */
  trouble: (() => void) | undefined;
  /** The next reply does not reach the platform, although all was done. */
  loseNextReply(): void;
  goDown(): Promise<void>;
  comeUp(): Promise<void>;
}

export async function openMerchant(given: { to: string; secret: string; store: Store }): Promise<Merchant> {
  const money: string[] = [];
  const answers: string[] = [];
  let isLosing = false;
  const merchant: Pick<Merchant, 'trouble'> = { trouble: undefined };
  const receiver = createReceiver({
    ...{ source, to: given.to, secrets: given.secret, store: given.store, onWarning: () => undefined },
    handler: (notification: Notification) => {
      merchant.trouble?.();
      const { amount } = notification.data as { amount: string };
      money.push(`${notification.type} ${notification.bizId} ${amount}`);
    },
  });
  const app = express();
  app.use((_req, res, next) => {
    const end = res.end.bind(res);
    res.end = ((body: Buffer, ...rest: never[]) => {
      answers.push(`${res.statusCode} ${body.toString()} ${String(res.getHeader('bestnotify-reason'))}`);
      if (!isLosing) return end(body, ...rest);
      isLosing = false;
      res.socket?.resetAndDestroy();
      return res;
    }) as typeof res.end;
    next();
  });
  app.post('/notify', receiver.express());

  let server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const goDown = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return Object.assign(merchant, {
    ...{ url: `http://127.0.0.1:${port}/notify`, money, answers, goDown },
    loseNextReply() {
      isLosing = true;
    },
    async comeUp() {
      server = app.listen(port, '127.0.0.1');
      await once(server, 'listening');
    },
    [Symbol.asyncDispose]: goDown,
  });
}
