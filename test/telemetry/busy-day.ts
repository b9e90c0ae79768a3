import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createReceiver, memoryStore, type Receiver, type ReceiverOptions } from '@bestnotify/receiver';
import { nodeHttpHandler } from '@bestnotify/receiver/node-http';
import { databases } from '../fixtures/databases.ts';
import { scriptedEndpoint } from '../fixtures/scripted-endpoint.ts';
import { freshOutbox, paid, source, type Outbox } from '../sender/fresh-outbox.ts';
import type { SenderOptions } from '@bestnotify/sender';

/** A platform and a merchant to whom everything happens once. */
export interface BusyDay extends AsyncDisposable {
  readonly outbox: Outbox;
  readonly receiver: Receiver;
  /** Delivers one, refuses one, kills one, and parks an endpoint: 13 attempts in all. */
  work(): Promise<void>;
}

export async function openBusyDay(
  given: { sender?: Partial<SenderOptions>; receiver?: Partial<ReceiverOptions> } = {},
): Promise<BusyDay> {
  const [postgresql] = databases;
  if (postgresql === undefined) throw new Error('There is no PostgreSQL.');
  const outbox = await freshOutbox(postgresql.open, given.sender);
  const dead = await scriptedEndpoint({ status: 503, body: 'card VISA-4111' });
  const secret = await outbox.putEndpoint({ id: 'merchant-42' });
  const receiver = createReceiver({
    ...{ source, to: 'merchant-42', secrets: secret, store: memoryStore(), onWarning: () => undefined },
    handler: ({ bizId }) => {
      if (bizId === 'PAY2') throw new RangeError('out of stock');
    },
    ...given.receiver,
  });
  const server = createServer(nodeHttpHandler(receiver)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/notify?token=of-the-merchant`;
  const event = { endpoint: 'merchant-42', ...paid, data: { card: 'VISA-4111' } };
  return {
    outbox,
    receiver,
    async work() {
      await outbox.sender.endpoints.put({ id: 'merchant-42', url, allowHttp: true, allowPrivateNetwork: true });
      await outbox.putEndpoint({ id: 'wrong-key', url });
      await outbox.putEndpoint({ id: 'down', url: dead.url });
      await outbox.sender.notifyMany([
        event,
        { ...event, bizId: 'PAY2', maxAttempts: 1 },
        { ...event, endpoint: 'wrong-key' },
        ...Array.from({ length: 10 }, (_, at) => ({ ...event, endpoint: 'down', bizId: `PAY${at + 10}` })),
      ]);
      await outbox.sender.runOnce({ maxInFlightPerEndpoint: 64 });
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await Promise.all([once(server, 'close'), dead[Symbol.asyncDispose]()]);
      await outbox[Symbol.asyncDispose]();
    },
  };
}
