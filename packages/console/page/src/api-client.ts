import type { ProgressShape, RefusalShape, SessionShape } from '../../src/shapes.js';

/** An answer that is not what was asked for, with the facts the server gave. */
export class ApiRefusal extends Error {
  readonly status: number;
  readonly facts: RefusalShape;

  constructor(status: number, facts: RefusalShape) {
    super(facts.message);
    this.status = status;
    this.facts = facts;
  }
}

type Query = Readonly<Record<string, string | number | null | undefined>>;

let csrfToken = '';

export async function getSession(): Promise<SessionShape> {
  const session = await get<SessionShape>('session');
  csrfToken = session.csrfToken;
  return session;
}

/** Asks the API below the page's own address, wherever the console is mounted. */
export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await fetch(addressOf(path, query), { signal: signal ?? null });
  return read<T>(response);
}

export async function post<T>(path: string, body: object): Promise<T> {
  return read<T>(await send(path, body));
}

/** The same, where the answer is a line of JSON now and then. */
export async function postLines(path: string, body: object, onLine: (line: ProgressShape) => void): Promise<void> {
  const response = await send(path, body);
  if (!response.ok || response.body === null) {
    await read(response);
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const parsed = JSON.parse(line) as ProgressShape & Partial<RefusalShape>;
      if (typeof parsed.error === 'string')
        throw new ApiRefusal(response.status, parsed as Partial<RefusalShape> as RefusalShape);
      onLine(parsed);
    }
  }
}

/** Where a file can be had from, for a link. */
export function addressOf(path: string, query: Query = {}): string {
  const url = new URL(`api/${path}`, new URL('./', document.baseURI));
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== '') url.searchParams.set(name, String(value));
  }
  return url.href;
}

function send(path: string, body: object): Promise<Response> {
  return fetch(addressOf(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrfToken },
    body: JSON.stringify(body),
  });
}

async function read<T>(response: Response): Promise<T> {
  const text = await response.text();
  if (response.ok) return JSON.parse(text) as T;
  throw new ApiRefusal(response.status, refusalOf(text, response.statusText));
}

function refusalOf(text: string, otherwise: string): RefusalShape {
  try {
    return JSON.parse(text) as RefusalShape;
  } catch {
    return { error: 'unavailable', message: otherwise };
  }
}
