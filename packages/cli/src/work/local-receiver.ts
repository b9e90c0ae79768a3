import { headerNames } from '@bestnotify/protocol';
import { createReceiver, memoryStore, RetryLater, type Notification, type Receiver } from '@bestnotify/receiver';
import type { RequestListener } from 'node:http';
import { printable, printableJson } from '../output/printable.js';
import { readRequestBody } from './read-request-body.js';

/** How a genuine notification is answered; a number is a bare status. */
export type Answer = 'success' | 'fail' | 'retry-later' | 'hang' | number;

/** One request, told after it was answered. */
export interface Received {
  facts: {
    at: Date;
    verdict: string;
    status: number | null;
    message?: string;
    notification?: Notification;
    keyId?: string;
  };
  text: string;
}

export interface LocalReceiverParts {
  source: string;
  to: string;
  secrets: readonly string[];
  answers: readonly Answer[];
  now: () => Date;
  tell: (received: Received) => Promise<void>;
}

/** A real receiver over a memory store, whose handler does what the script says. */
export function createLocalReceiver({ source, to, secrets, answers, now, tell }: LocalReceiverParts): RequestListener {
  let position = 0;
  const runs = new Map<string, { notification: Notification; keyId: string; answer: Answer }>();
  let refusal: string | undefined; // told while handle() runs, so it belongs to the request that reads it right after
  const receiver: Receiver = createReceiver({
    source,
    to,
    secrets,
    store: memoryStore(),
    onInvalid: ({ message }) => (refusal = message),
    onConflict: () => (refusal = 'another payload under a business id that is known'),
    onWarning: () => undefined,
    handler: (notification, { keyId }) => {
      const answer = answers[Math.min(position++, answers.length - 1)] ?? 'success';
      runs.set(notification.id, { notification, keyId, answer });
      if (answer === 'retry-later') throw new RetryLater();
      if (answer !== 'success') throw new Error('told to fail'); // not recorded as done: the next attempt runs again
    },
  });
  return (request, response) => {
    void (async () => {
      const body = await readRequestBody(request);
      refusal = undefined;
      const reply = await receiver.handle({ method: request.method, headers: request.headers, body });
      const id = request.headers[headerNames.id];
      const run = typeof id === 'string' ? runs.get(id) : undefined;
      if (run !== undefined) runs.delete(run.notification.id);
      const isScripted = typeof run?.answer === 'number';
      const status = isScripted ? (run.answer as number) : reply.status;
      const verdict =
        run?.answer === 'hang' ? 'hang' : isScripted ? 'as-told' : (reply.headers[headerNames.reason] ?? 'refused');
      await tell(describe({ at: now(), verdict, status: verdict === 'hang' ? null : status, message: refusal, run }));
      if (verdict === 'hang') return;
      if (isScripted)
        response.writeHead(status, { 'content-type': 'text/plain' }).end(status < 300 ? 'success' : 'fail');
      else response.writeHead(reply.status, reply.headers).end(reply.body);
    })().catch(() => response.destroy());
  };
}

function describe(facts: {
  at: Date;
  verdict: string;
  status: number | null;
  message: string | undefined;
  run: { notification: Notification; keyId: string } | undefined;
}): Received {
  const { at, verdict, status, message, run } = facts;
  const about = run === undefined ? '' : ` ${run.notification.type} ${run.notification.bizId} ${run.notification.id}`;
  const data = run === undefined ? '' : ` ${printableJson(run.notification.data)}`;
  return {
    facts: {
      ...{ at, verdict, status },
      ...(message !== undefined && { message }),
      ...(run !== undefined && { notification: run.notification, keyId: run.keyId }),
    },
    text: `${at.toISOString()} ${status ?? 'none'} ${verdict}${printable(about)}${data}${message === undefined ? '' : `: ${printable(message)}`}`,
  };
}
