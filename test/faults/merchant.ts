import { createReceiver, memoryStore, type ReceiverReply } from '@bestnotify/receiver';
import type { RecordedRequest, ReplyFunction } from '../fixtures/scripted-endpoint.ts';
import { source } from '../sender/fresh-outbox.ts';

/** A merchant: the real receiver, and a ledger of what its handler did. */
export interface Merchant {
  /** How often each business id took effect. */
  readonly effects: ReadonlyMap<string, number>;
  /** Handles the request, and answers. */
  readonly answer: ReplyFunction;
  /** Handles the request, and never answers: the effect is there, the acknowledgement is not. */
  readonly handleInSilence: ReplyFunction;
}

export function merchant(secrets: Readonly<Record<string, string>>): Merchant {
  const effects = new Map<string, number>();
  const receivers = new Map(
    Object.entries(secrets).map(([to, secret]) => [
      to,
      createReceiver({
        ...{ source, to, secrets: secret, store: memoryStore(), onWarning: () => undefined },
        handler: ({ bizId }) => {
          effects.set(bizId, (effects.get(bizId) ?? 0) + 1);
        },
      }),
    ]),
  );
  const handle = ({ method, headers, body }: RecordedRequest): Promise<ReceiverReply> => {
    const { to } = JSON.parse(body.toString()) as { to: string };
    const receiver = receivers.get(to);
    if (receiver === undefined) throw new Error(`nobody is called ${to}`);
    return receiver.handle({ method, headers, body });
  };
  return {
    effects,
    answer: async (request, response) => {
      const reply = await handle(request);
      response.writeHead(reply.status, { ...reply.headers }).end(reply.body);
    },
    handleInSilence: async (request) => {
      await handle(request);
    },
  };
}
