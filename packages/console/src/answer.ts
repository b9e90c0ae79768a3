/** What a route answers; the one place that writes to a response is write-answer. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: Buffer | string;
  /** Lines of JSON that come while the work goes on. */
  lines?: AsyncIterable<object>;
}

/** Why a request was not answered as it was meant; a kind, a sentence for people, and facts. */
export interface Refusal {
  error:
    | 'unauthorized'
    | 'forbidden'
    | 'csrf'
    | 'not-found'
    | 'method'
    | 'bad-input'
    | 'too-large'
    | 'conflict'
    | 'internal'
    | 'unavailable';
  message: string;
  /** The sender's own code. */
  code?: string;
  [fact: string]: unknown;
}

export function json(value: object, status = 200): Answer {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(value) };
}

export function refuse(status: number, refusal: Refusal): Answer {
  return json(refusal, status);
}

/** Bytes of somebody else, for a person to keep: never shown by the browser under our origin. */
export function download(bytes: Buffer, fileName: string): Answer {
  return {
    status: 200,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`,
    },
    body: bytes,
  };
}

/** Thrown inside a route for input that cannot be used. */
export class BadInput extends Error {
  readonly refusal: Refusal;
  readonly status: number;

  constructor(message: string, status = 400, error: Refusal['error'] = 'bad-input') {
    super(message);
    this.status = status;
    this.refusal = { error, message };
  }
}
