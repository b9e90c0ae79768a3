import type { Receiver } from '../receiver.js';

/** An event of API Gateway (REST and HTTP API), a function URL or an Application Load Balancer. */
export interface LambdaHttpEvent {
  httpMethod?: string;
  requestContext?: { http?: { method?: string } };
  headers?: Record<string, string | undefined> | null;
  multiValueHeaders?: Record<string, string[] | undefined> | null;
  body?: string | null;
  isBase64Encoded?: boolean;
}

export interface LambdaHttpResult {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
  isBase64Encoded: false;
}

/** A Lambda handler. Map the body through untouched: a template that prints parsed JSON changes the bytes that were signed. */
export function lambdaHandler(receiver: Receiver): (event: LambdaHttpEvent) => Promise<LambdaHttpResult> {
  return async (event) => {
    const reply = await receiver.handle({
      method: event.httpMethod ?? event.requestContext?.http?.method,
      // An event has one form, the other, or both with the same content.
      headers: event.headers ?? event.multiValueHeaders ?? {},
      body: bodyOf(event),
    });
    await receiver.drain(); // a frozen function finishes nothing in the background
    return {
      statusCode: reply.status,
      headers: { ...reply.headers },
      body: reply.body.toString('utf8'),
      isBase64Encoded: false,
    };
  };
}

function bodyOf({ body, isBase64Encoded }: LambdaHttpEvent): Uint8Array | string {
  if (body === undefined || body === null) return '';
  // An event that was parsed on the way has an object here, which handle answers with raw-body-missing.
  return isBase64Encoded === true ? Buffer.from(body, 'base64') : body;
}
